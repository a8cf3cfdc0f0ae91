internal import ProcessSnapshot

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
  func text(of address: Address) -> String? {
    let mapping = mappings.first { $0.range.contains(address) }
    let rights = mapping.map { " " + $0.protection } ?? ""
    for module in modules {
      let range = AddressRange(start: module.base.address, byteCount: module.size)
      guard let offset = range.offset(of: address) else { continue }
      return "\(module.name ?? module.path)+\(HexAddress(offset))\(rights)"
    }
    guard let mapping else { return nil }
    let name = mapping.path.map { $0.hasPrefix("/") ? TextReport.shortPath($0) : $0 }
    return (name ?? "anonymous memory") + rights
  }
}
