extension UnsafeRawBufferPointer {
  /// Reads a little-endian integer of a fixed width; nil if the integer is not completely inside the bytes.
  @inlinable
  package func littleEndian<Value: FixedWidthInteger>(
    at offset: Int, as type: Value.Type
  ) -> Value? {
    guard offset >= 0, offset <= count - MemoryLayout<Value>.size else { return nil }
    return unsafe Value(littleEndian: loadUnaligned(fromByteOffset: offset, as: Value.self))
  }

  /// Reads a little-endian integer of any width up to 8 bytes; nil if the integer is not completely inside the bytes.
  @inlinable
  package func littleEndian(at offset: Int, width: Int) -> UInt64? {
    guard offset >= 0, width >= 0, width <= 8, offset <= count, width <= count - offset else {
      return nil
    }
    var value: UInt64 = 0
    var index = offset + width
    while index > offset {
      index -= 1
      value = unsafe value << 8 | UInt64(self[index])
    }
    return value
  }
}

extension ArraySlice<UInt8> {
  /// Reads a little-endian integer of a fixed width.
  ///
  /// - Parameter offset: the number of bytes from the start of the slice.
  /// - Returns: nil if the integer is not completely inside the bytes.
  @inlinable
  package func littleEndian<Value: FixedWidthInteger>(
    at offset: Int, as type: Value.Type
  ) -> Value? {
    unsafe withUnsafeBytes { unsafe $0.littleEndian(at: offset, as: type) }
  }

  /// Reads a little-endian integer of any width up to 8 bytes.
  ///
  /// - Parameters:
  ///   - offset: the number of bytes from the start of the slice.
  ///   - width: the number of bytes; the result is 0 if the width is 0.
  /// - Returns: nil if the integer is not completely inside the bytes.
  @inlinable
  package func littleEndian(at offset: Int, width: Int) -> UInt64? {
    unsafe withUnsafeBytes { unsafe $0.littleEndian(at: offset, width: width) }
  }
}

extension [UInt8] {
  /// Appends all bytes of an integer, lowest first.
  @inlinable
  package mutating func append(littleEndian value: some FixedWidthInteger) {
    for index in 0..<value.bitWidth / 8 { append(UInt8(truncatingIfNeeded: value >> (8 * index))) }
  }

  /// Reads a little-endian integer of a fixed width; nil if the integer is not completely inside the bytes.
  @inlinable
  package func littleEndian<Value: FixedWidthInteger>(
    at offset: Int, as type: Value.Type
  ) -> Value? {
    unsafe withUnsafeBytes { unsafe $0.littleEndian(at: offset, as: type) }
  }

  /// Reads a little-endian integer of any width up to 8 bytes; nil if the integer is not completely inside the bytes.
  @inlinable
  package func littleEndian(at offset: Int, width: Int) -> UInt64? {
    unsafe withUnsafeBytes { unsafe $0.littleEndian(at: offset, width: width) }
  }
}
