internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

/// Reads the code of a process from the dump or, if the dump lacks it, from the modules' files.
struct CodeReader {
  let snapshot: ProcessSnapshot
  /// Opens the files of the modules; nil to read only the dump.
  var symbols: SymbolSource?

  /// The bytes from an address on; fewer than `count` bytes at the end of the code, and nil if there are none.
  func bytes(at address: Address, upTo count: Int) -> [UInt8]? {
    (1...count).reversed().lazy.compactMap { bytes(at: address, count: $0) }.first
  }

  func bytes(at address: Address, count: Int) -> [UInt8]? {
    if let bytes = snapshot.memory.bytes(at: address, count: count) { return Array(bytes) }
    return snapshot.module(containing: address).flatMap { module in
      symbols?.constants(at: address, count: count, in: module)
    }
  }
}

extension CodeReader {
  /// True if the instruction before an address is a call of x86_64; nil if its bytes are not known.
  ///
  /// Source: Intel SDM volume 2, CALL.
  func isReturnAddress(_ address: Address) -> Bool? {
    guard let near = bytes(at: address &- 5, count: 5) else { return nil }
    return near[0] == 0xE8 || indirectCall(before: address) != nil
  }

  /// The bytes of the indirect call (`call *...`) that ends at an address; nil if there is none.
  func indirectCall(before address: Address) -> [UInt8]? {
    for count in 2...8 {
      guard let code = bytes(at: address &- UInt64(count), count: count) else { continue }
      var rest = code[...]
      if let byte = rest.first, byte & 0xF0 == 0x40 { rest.removeFirst() }
      guard rest.popFirst() == 0xFF, let mode = rest.popFirst(), mode >> 3 & 7 == 2 else {
        continue
      }
      let base = mode < 0xC0 && mode & 7 == 4 ? rest.popFirst().map { $0 & 7 } : mode & 7
      let size =
        mode >= 0xC0 ? 0 : mode >= 0x80 || mode < 0x40 && base == 5 ? 4 : mode >= 0x40 ? 1 : 0
      if rest.count == size { return code }
    }
    return nil
  }
}
