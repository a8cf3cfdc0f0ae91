internal import ProcessSnapshot

extension MinidumpDecoder {
  /// More functions at one address than any compiler inlines.
  private static var maximumFunctions: UInt64 { 1 << 10 }

  /// Reads what `MinidumpEncoder.encodeStoredSymbols` wrote; keeps what comes before damage.
  mutating func decodeStoredSymbols() {
    guard let stream = file.streams[.postmortemSymbols] else { return }
    guard file.integer(at: stream.lowerBound, width: 4) == 1,
      let count = file.integer(at: stream.lowerBound + 4, width: 4)
    else { return file.note("the stream of stored symbols has an unknown version") }
    var offset = stream.lowerBound + 8
    var symbols = StoredSymbols()
    for _ in 0..<min(Int(clamping: count), MinidumpFile.maximumEntries) {
      guard offset + 12 <= stream.upperBound, let address = file.integer(at: offset, width: 8),
        let functionCount = file.integer(at: offset + 8, width: 4),
        functionCount <= Self.maximumFunctions
      else { break }
      offset += 12
      var functions: [StoredSymbols.Function] = []
      for _ in 0..<functionCount {
        guard let function = storedFunction(at: &offset, end: stream.upperBound) else { break }
        functions.append(function)
      }
      guard UInt64(functions.count) == functionCount else { break }
      symbols.functions[Address(address)] = functions
    }
    if UInt64(symbols.functions.count) != count {
      file.note("the stream of stored symbols is damaged")
    }
    snapshot.storedSymbols = symbols
  }

  private mutating func storedFunction(at offset: inout Int, end: Int) -> StoredSymbols.Function? {
    guard offset + 20 <= end, let flags = file.integer(at: offset, width: 4),
      let start = file.integer(at: offset + 4, width: 8),
      let line = file.integer(at: offset + 12, width: 4),
      let column = file.integer(at: offset + 16, width: 4)
    else { return nil }
    offset += 20
    guard let name = storedText(at: &offset, end: end), let path = storedText(at: &offset, end: end)
    else { return nil }
    return StoredSymbols.Function(
      linkageName: name, offset: flags & 2 != 0 ? start : nil, isInlined: flags & 1 != 0,
      file: flags & 4 != 0 ? path : nil,
      line: flags & 8 != 0 ? UInt32(truncatingIfNeeded: line) : nil,
      column: flags & 16 != 0 ? UInt32(truncatingIfNeeded: column) : nil,
      isLineApproximate: flags & 32 != 0)
  }

  private mutating func storedText(at offset: inout Int, end: Int) -> String? {
    guard offset + 4 <= end, let size = file.integer(at: offset, width: 4),
      size <= MinidumpFile.maximumStringSize, let count = Int(exactly: size),
      count <= end - offset - 4, let bytes = file.copy(offset + 4..<offset + 4 + count)
    else { return nil }
    offset += 4 + count
    return String(decoding: bytes, as: UTF8.self)
  }
}
