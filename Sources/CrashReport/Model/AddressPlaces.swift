internal import IntermediateDump
package import ProcessSnapshot

/// Says in a few words where an address lies.
package struct AddressPlaces {
  private let snapshot: ProcessSnapshot
  private let mappings: [MemoryMapping]

  package init(_ snapshot: ProcessSnapshot) {
    self.snapshot = snapshot
    mappings = snapshot.listedMappings.mappings
  }

  /// Such as "libc.so.6+0x1234 r-x", "stack of thread 12 rw-" or "[heap] rw-"; nil where it is not mapped
  /// or not known, as for small numbers.
  package func text(of address: Address) -> String? {
    let mapping = mappings.first { $0.range.contains(address) }
    let rights = mapping.map { " " + $0.protection.letters } ?? ""
    if let module = snapshot.modules.first(where: { $0.contains(address) }) {
      return module.text(of: address) + rights
    }
    guard let mapping else { return nil }
    if let thread = snapshot.threads.first(where: { $0.stackRange?.contains(address) == true }) {
      return "stack of thread \(thread.id)" + rights
    }
    return (mapping.path.isEmpty ? "anonymous memory" : mapping.path.shortMappingName) + rights
  }
}

extension ArraySlice<UInt8> {
  /// Up to 16 bytes in hexadecimal and as ASCII.
  var hexadecimalRow: String {
    let cells = map { $0.hexadecimal(digits: 2) }
    let left = cells.prefix(8).joined(separator: " ")
    let right = cells.dropFirst(8).joined(separator: " ")
    let ascii = map { (0x20..<0x7F).contains($0) ? String(UnicodeScalar($0)) : "." }.joined()
    let hexadecimal = left + "  " + right
    return hexadecimal + String(repeating: " ", count: Swift.max(0, 48 - hexadecimal.count)) + "  "
      + ascii
  }
}
