/// Says in a few words where an address lies.
struct AddressPlaces {
  private let modules: [CrashReport.Module]
  private let mappings: [CrashReport.Mapping]
  private let isComplete: Bool

  init(_ report: CrashReport) {
    modules = report.modules
    mappings = report.mappings ?? []
    isComplete = report.mappingsOmitted == 0 && !mappings.isEmpty
  }

  /// Such as "libc.so.6+0x1234 r-x" or "[heap] rw-"; nil where it is not mapped or not known, as for
  /// small numbers.
  func text(of address: UInt64) -> String? {
    let mapping = mappings.first { address >= $0.start.value && address < $0.end.value }
    let rights = mapping.map { " " + $0.protection } ?? ""
    if let module = modules.first(where: {
      address >= $0.base.value && address - $0.base.value < $0.size
    }) {
      return "\(module.name ?? module.path)+\(HexAddress(address - module.base.value))\(rights)"
    }
    guard let mapping else { return nil }
    let name = mapping.path.map { $0.hasPrefix("/") ? TextReport.shortPath($0) : $0 }
    return (name ?? "anonymous memory") + rights
  }
}
