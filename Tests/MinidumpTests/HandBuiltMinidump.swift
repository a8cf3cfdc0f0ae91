import CrashTestSupport

/// Assembles minidumps byte by byte, like other writers, without the product's code.
struct HandBuiltMinidump {
  private var contents: [UInt8] = []
  private var directory: [(type: UInt32, size: Int, rva: UInt32)] = []
  /// The size of the header and of 16 directory entries.
  private static let base = 32 + 16 * 12

  static func u16(_ value: Int) -> [UInt8] { Array(u64(UInt64(value)).prefix(2)) }
  static func u32(_ value: UInt32) -> [UInt8] { Array(u64(UInt64(value)).prefix(4)) }
  static func u64(_ value: UInt64) -> [UInt8] { littleEndian(value) }

  /// Appends bytes and returns their offset in the file.
  mutating func blob(_ bytes: [UInt8]) -> UInt32 {
    while contents.count % 8 != 0 { contents.append(0) }
    defer { contents += bytes }
    return UInt32(Self.base + contents.count)
  }

  /// Appends a MINIDUMP_STRING.
  mutating func string(_ text: String) -> UInt32 {
    let units = text.utf16.flatMap { Self.u16(Int($0)) }
    return blob(Self.u32(UInt32(units.count)) + units + [0, 0])
  }

  /// Appends Crashpad's UTF-8 string.
  mutating func utf8String(_ text: String) -> UInt32 {
    blob(Self.u32(UInt32(text.utf8.count)) + Array(text.utf8) + [0])
  }

  mutating func stream(_ type: UInt32, _ bytes: [UInt8]) {
    directory.append((type, bytes.count, blob(bytes)))
  }

  func file() -> [UInt8] {
    var bytes = Array("MDMP".utf8) + Self.u32(42899) + Self.u32(UInt32(directory.count))
    bytes += Self.u32(32) + Self.u32(0) + Self.u32(1_600_000_000) + Self.u64(0)
    for entry in directory {
      bytes += Self.u32(entry.type) + Self.u32(UInt32(entry.size)) + Self.u32(entry.rva)
    }
    bytes += [UInt8](repeating: 0, count: Self.base - bytes.count)
    return bytes + contents
  }
}
