internal import CrashAnalysis
internal import IntermediateDump
internal import ProcessSnapshot

extension ProcessSnapshot {
  /// Describes in a few words the memory to which an address belongs.
  ///
  /// Examples are "libc.so.6+0x1234 r-x", "stack of thread 12 rw-" and "[heap] rw-". The result is nil if the address
  /// is in no module, and in no mapping that the dump lists.
  func place(of address: Address) -> String? {
    let mapping = mapping(containing: address)
    let rights = mapping.map { " " + $0.protection.letters } ?? ""
    if let module = module(containing: address) { return module.text(of: address) + rights }
    guard let mapping else { return nil }
    if let thread = threads.first(where: { $0.stackRange?.contains(address) == true }) {
      return "stack of thread \(thread.id)" + rights
    }
    return (mapping.path.isEmpty ? "anonymous memory" : mapping.path.shortMappingName) + rights
  }
}

extension MemoryMapping.Protection {
  /// The permissions as letters, for example "r-x".
  var letters: String {
    (contains(.read) ? "r" : "-") + (contains(.write) ? "w" : "-")
      + (contains(.execute) ? "x" : "-")
  }
}

extension ArraySlice<UInt8> {
  /// A line of a memory dump with up to 16 bytes, in hexadecimal and as ASCII.
  var hexadecimalRow: String {
    let cells = map { $0.hexadecimal(digits: 2) }
    let left = cells.prefix(8).joined(separator: " ")
    let right = cells.dropFirst(8).joined(separator: " ")
    let ascii = map { (0x20..<0x7F).contains($0) ? String(UnicodeScalar($0)) : "." }.joined()
    return (left + "  " + right).padded(to: 48) + "  " + ascii
  }
}
