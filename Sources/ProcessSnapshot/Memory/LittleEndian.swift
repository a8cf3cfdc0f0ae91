extension ArraySlice<UInt8> {
  /// A little-endian integer of up to 8 bytes, `offset` bytes from the slice's start; nil if it is
  /// not wholly inside.
  package func littleEndian(at offset: Int, width: Int) -> UInt64? {
    guard offset >= 0, width >= 0, width <= 8, offset <= count, width <= count - offset else {
      return nil
    }
    var value: UInt64 = 0
    var index = startIndex + offset + width
    while index > startIndex + offset {
      index -= 1
      value = value << 8 | UInt64(self[index])
    }
    return value
  }
}
