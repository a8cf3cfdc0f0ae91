/// Little-endian integers out of bytes, nil outside them.
extension [UInt8] {
  func integer<Value: FixedWidthInteger>(at offset: Int, as type: Value.Type) -> Value? {
    guard offset >= 0, offset <= count - MemoryLayout<Value>.size else { return nil }
    return unsafe withUnsafeBytes {
      unsafe Value(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: Value.self))
    }
  }
  /// The text from an offset up to a NUL, at most 4 KiB; empty outside the bytes.
  func text(at offset: Int) -> String {
    guard offset >= 0, offset < count else { return "" }
    let rest = self[offset..<Swift.min(count, offset + 4096)]
    return String(decoding: rest.prefix { $0 != 0 }, as: UTF8.self)
  }
}
