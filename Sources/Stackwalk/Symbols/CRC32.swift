/// The checksum that `.gnu_debuglink` holds of the file it names.
///
/// Source: ITU-T V.42, 8.1.1.6.2 (polynomial); GDB manual, "Separate Debug Files".
struct CRC32 {
  private static let table: [UInt32] = (0..<256).map { index in
    var value = UInt32(truncatingIfNeeded: index)
    for _ in 0..<8 { value = value & 1 != 0 ? value >> 1 ^ 0xEDB8_8320 : value >> 1 }
    return value
  }

  private var state: UInt32 = ~0

  mutating func add(_ bytes: [UInt8]) {
    let table = Self.table
    var state = state
    for byte in bytes { state = state >> 8 ^ table[Int(UInt8(truncatingIfNeeded: state) ^ byte)] }
    self.state = state
  }

  var value: UInt32 { ~state }

  /// Of a whole file, which is read to its end; nil if that fails.
  static func of(_ file: borrowing ModuleFile) -> UInt32? {
    var checksum = CRC32()
    var offset: UInt64 = 0
    while offset < file.size {
      let count = Int(clamping: min(1 << 20, file.size &- offset))
      guard let bytes = file.bytes(at: offset, count: count) else { return nil }
      checksum.add(bytes)
      offset &+= UInt64(count)
    }
    return checksum.value
  }
}
