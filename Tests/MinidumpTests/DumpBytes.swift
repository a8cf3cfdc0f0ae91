/// Reads a minidump by offsets written here, without the product's constants.
struct DumpBytes {
  let bytes: [UInt8]

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  func u8(_ offset: Int) -> Int { Int(bytes[offset]) }
  func u16(_ offset: Int) -> Int { u8(offset) | u8(offset + 1) << 8 }
  func u32(_ offset: Int) -> Int { u16(offset) | u16(offset + 2) << 16 }
  func u64(_ offset: Int) -> UInt64 { UInt64(u32(offset)) | UInt64(u32(offset + 4)) << 32 }

  /// The size and the offset of a stream; nil if the directory does not list it.
  func stream(_ type: Int) -> (size: Int, rva: Int)? {
    for index in 0..<u32(8) {
      let entry = u32(12) + index * 12
      if u32(entry) == type { return (u32(entry + 4), u32(entry + 8)) }
    }
    return nil
  }

  /// The types of all streams, in the order of the directory.
  var streamTypes: [Int] { (0..<u32(8)).map { u32(u32(12) + $0 * 12) } }

  /// The same file with an unknown stream type in place of the given one.
  func hiding(_ type: Int) -> [UInt8] {
    var bytes = bytes
    for (index, found) in streamTypes.enumerated() where found == type {
      bytes[u32(12) + index * 12 + 3] = 0xFF
    }
    return bytes
  }

  /// Reads a MINIDUMP_STRING, and checks its terminator.
  func string(_ rva: Int) -> String? {
    let count = u32(rva) / 2
    guard u16(rva + 4 + count * 2) == 0 else { return nil }
    return String(decoding: (0..<count).map { UInt16(u16(rva + 4 + $0 * 2)) }, as: UTF16.self)
  }

  /// Reads Crashpad's UTF-8 string, and checks its terminator.
  func utf8String(_ rva: Int) -> String? {
    let count = u32(rva)
    guard u8(rva + 4 + count) == 0 else { return nil }
    return String(decoding: bytes[rva + 4..<rva + 4 + count], as: UTF8.self)
  }
}
