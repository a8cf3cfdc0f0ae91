internal import ProcessSnapshot

extension MinidumpEncoder {
  /// Functions and lines of the crashing thread, by address.
  ///
  /// Version 1 (4 bytes), count of addresses (4); for each the address (8) and a count of functions
  /// (4), for each of these flags (4; 1 inlined, 2 offset known, 4 file known, 8 line known, 16
  /// column known, 32 line approximate), offset (8), line (4), column (4), then name and file, each with its count of
  /// bytes (4) in front. `Docs/Minidump.md` repeats it.
  mutating func encodeStoredSymbols(_ symbols: StoredSymbols) -> MinidumpLocation {
    var stream = MinidumpBuffer()
    stream.append(UInt32(1))
    stream.append(UInt32(truncatingIfNeeded: symbols.functions.count))
    for (address, functions) in symbols.functions.sorted(by: { $0.key < $1.key }) {
      stream.append(address)
      stream.append(UInt32(truncatingIfNeeded: functions.count))
      for function in functions { Self.append(function, to: &stream) }
    }
    return buffer.appendStream(stream.bytes)
  }

  private static func append(_ function: StoredSymbols.Function, to stream: inout MinidumpBuffer) {
    var flags: UInt32 = 0
    if function.isInlined { flags |= 1 }
    if function.offset != nil { flags |= 2 }
    if function.file != nil { flags |= 4 }
    if function.line != nil { flags |= 8 }
    if function.column != nil { flags |= 16 }
    if function.isLineApproximate { flags |= 32 }
    stream.append(flags)
    stream.append(function.offset ?? 0)
    stream.append(function.line ?? 0)
    stream.append(function.column ?? 0)
    for text in [function.linkageName, function.file ?? ""] {
      let bytes = Array(text.utf8)
      stream.append(UInt32(truncatingIfNeeded: bytes.count))
      stream.append(bytes)
    }
  }
}
