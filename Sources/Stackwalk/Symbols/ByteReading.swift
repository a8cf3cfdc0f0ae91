/// Little-endian integers out of bytes, nil outside them.
extension [UInt8] {
  func integer<Value: FixedWidthInteger>(at offset: Int, as type: Value.Type) -> Value? {
    guard offset >= 0, offset <= count - MemoryLayout<Value>.size else { return nil }
    return unsafe withUnsafeBytes {
      unsafe Value(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: Value.self))
    }
  }
}
