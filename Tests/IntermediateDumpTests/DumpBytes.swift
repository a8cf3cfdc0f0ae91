/// Builds dumps by hand, from the text of the format and not from the product's constants.
enum DumpBytes {
  /// The magic number, version 1, x86_64, 8-byte words, a header of 32 bytes, and "swift-postmortem".
  static let header: [UInt8] = [
    0x50, 0x4D, 0x44, 0x55, 0x4D, 0x50, 0x0D, 0x0A,
    0x01, 0x00, 0x01, 0x08, 0x20, 0x00, 0x00, 0x00,
    0x73, 0x77, 0x69, 0x66, 0x74, 0x2D, 0x70, 0x6F,
    0x73, 0x74, 0x6D, 0x6F, 0x72, 0x74, 0x65, 0x6D,
  ]

  static func property(_ key: UInt16, _ bytes: [UInt8]) -> [UInt8] {
    [0x01] + two(key) + four(UInt32(bytes.count)) + bytes
  }

  /// A property whose length may differ from the number of bytes that follow.
  static func property(_ key: UInt16, length: UInt32, _ bytes: [UInt8]) -> [UInt8] {
    [0x01] + two(key) + four(length) + bytes
  }

  static func map(_ key: UInt16, _ contents: [UInt8]) -> [UInt8] {
    [0x02] + two(key) + contents + [0x03]
  }

  static func array(_ key: UInt16, _ contents: [UInt8]) -> [UInt8] {
    [0x04] + two(key) + contents + [0x05]
  }

  static func two(_ value: UInt16) -> [UInt8] {
    [UInt8(value & 0xFF), UInt8(value >> 8)]
  }

  static func four(_ value: UInt32) -> [UInt8] {
    two(UInt16(value & 0xFFFF)) + two(UInt16(value >> 16))
  }
}
