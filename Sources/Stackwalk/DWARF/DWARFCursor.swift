internal import IntermediateDump

/// Reads a piece of a DWARF section from front to back.
///
/// A read past the end returns nil and leaves the position undefined. Copies of a cursor share the bytes.
///
/// Source: DWARF 5, 7.4 (initial length), 7.6 (LEB128). Numbers are little-endian, as on x86_64 and arm64.
struct DWARFCursor {
  private let bytes: [UInt8]
  /// The index of the next byte in `bytes`, even if the cursor covers only a range of them.
  private(set) var position: Int
  let end: Int

  /// Makes a cursor over a range of the bytes; nil means all bytes.
  ///
  /// If the range is not within the bytes, the cursor is empty.
  init(_ bytes: [UInt8], in range: Range<Int>? = nil) {
    self.bytes = bytes
    let range = range ?? 0..<bytes.count
    let fits = range.lowerBound >= 0 && range.upperBound <= bytes.count
    position = fits ? range.lowerBound : 0
    end = fits ? range.upperBound : 0
  }

  var remaining: Int { end - position }
  var isAtEnd: Bool { position >= end }

  /// Moves forward to an absolute position.
  ///
  /// Returns false, without moving, if the position is before the current one or past the end.
  mutating func advance(to position: Int) -> Bool {
    guard position >= self.position, position <= end else { return false }
    self.position = position
    return true
  }

  mutating func skip(_ count: UInt64) -> Bool {
    guard let count = Int(exactly: count), count <= remaining else { return false }
    position += count
    return true
  }

  mutating func readByte() -> UInt8? {
    guard position < end else { return nil }
    let byte = bytes[position]
    position += 1
    return byte
  }

  /// Reads a fixed-width integer.
  mutating func read<Value: FixedWidthInteger>(_ type: Value.Type) -> Value? {
    guard MemoryLayout<Value>.size <= remaining else { return nil }
    defer { position += MemoryLayout<Value>.size }
    return bytes.littleEndian(at: position, as: type)
  }

  /// Reads an unsigned integer of 1 to 8 bytes, for example of 3 bytes for DW_FORM_addrx3.
  mutating func readUnsigned(width: Int) -> UInt64? {
    guard (1...8).contains(width), width <= remaining else { return nil }
    defer { position += width }
    return bytes.littleEndian(at: position, width: width)
  }

  /// Reads the operand of DW_OP_const1u to DW_OP_consts, extended to 64 bits.
  ///
  /// - Parameter operation: the operation's number; if it is odd, the operand is signed.
  mutating func readConstant(_ operation: UInt8) -> UInt64? {
    switch operation {
    case 0x08: readUnsigned(width: 1)
    case 0x09: read(Int8.self).map { UInt64(bitPattern: Int64($0)) }
    case 0x0A: readUnsigned(width: 2)
    case 0x0B: read(Int16.self).map { UInt64(bitPattern: Int64($0)) }
    case 0x0C: readUnsigned(width: 4)
    case 0x0D: read(Int32.self).map { UInt64(bitPattern: Int64($0)) }
    case 0x0E, 0x0F: readUnsigned(width: 8)
    case 0x10: readULEB()
    default: readSLEB().map { UInt64(bitPattern: $0) }
    }
  }

  /// Reads an unsigned LEB128 number with any padding; nil for a value of more than 64 bits, or if the bytes end before
  /// the number does.
  mutating func readULEB() -> UInt64? {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while position < end {
      let byte = bytes[position]
      position += 1
      let bits = UInt64(byte & 0x7F)
      if shift < 64 {
        guard (bits &<< shift) &>> shift == bits else { return nil }
        value |= bits &<< shift
        shift &+= 7
      } else if bits != 0 {
        return nil
      }
      if byte & 0x80 == 0 { return value }
    }
    return nil
  }

  /// Reads a signed LEB128 number, and drops bits beyond the 64th.
  mutating func readSLEB() -> Int64? {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while position < end {
      let byte = bytes[position]
      position += 1
      if shift < 64 {
        value |= UInt64(byte & 0x7F) &<< shift
        shift &+= 7
      }
      if byte & 0x80 == 0 {
        if shift < 64, byte & 0x40 != 0 { value |= .max << shift }
        return Int64(bitPattern: value)
      }
    }
    return nil
  }

  /// Reads an initial length, and returns it with the size of offsets (4 or 8 bytes); nil for a reserved value.
  mutating func readInitialLength() -> (length: UInt64, offsetSize: Int)? {
    guard let short = read(UInt32.self) else { return nil }
    if short < 0xFFFF_FFF0 { return (UInt64(short), 4) }
    guard short == 0xFFFF_FFFF, let length = read(UInt64.self) else { return nil }
    return (length, 8)
  }

  /// Reads the bytes up to a NUL, and skips the NUL; nil if there is no NUL.
  mutating func readCString() -> ArraySlice<UInt8>? {
    guard let terminator = bytes[position..<end].firstIndex(of: 0) else { return nil }
    defer { position = terminator + 1 }
    return bytes[position..<terminator]
  }

  mutating func readBytes(count: UInt64) -> ArraySlice<UInt8>? {
    guard let count = Int(exactly: count), count <= remaining else { return nil }
    defer { position += count }
    return bytes[position..<position + count]
  }

  /// Returns a cursor over the next `count` bytes, and skips them.
  mutating func readPiece(count: UInt64) -> DWARFCursor? {
    guard let count = Int(exactly: count), count <= remaining else { return nil }
    defer { position += count }
    return DWARFCursor(bytes, in: position..<position + count)
  }
}

/// Reads records through a cursor, and remembers whether a read went past the end.
///
/// After a failed read, every read of a number returns zero, so a record with many fields needs only one check at its
/// end.
struct DWARFReader {
  private var cursor: DWARFCursor
  /// True after a read past the end or another failure.
  private(set) var hasFailed: Bool

  /// Makes a reader for a part of the bytes.
  ///
  /// If the part is not within the bytes, the reader has failed from the start.
  init(_ bytes: [UInt8], from offset: Int = 0, to end: Int? = nil) {
    let end = end ?? bytes.count
    hasFailed = offset < 0 || offset > end || end > bytes.count
    cursor = DWARFCursor(bytes, in: hasFailed ? 0..<0 : offset..<end)
  }

  /// The index of the next byte.
  var offset: Int { cursor.position }
  var end: Int { cursor.end }
  var isAtEnd: Bool { hasFailed || cursor.isAtEnd }

  mutating func fail() { hasFailed = true }

  /// Moves forward to an offset; fails if the offset is before the current one or past the end.
  mutating func seek(to target: Int) {
    if !cursor.advance(to: target) { fail() }
  }

  mutating func skip(_ count: Int) { skip(UInt64(clamping: count)) }

  mutating func skip(_ count: UInt64) {
    if hasFailed || !cursor.skip(count) { fail() }
  }

  private mutating func checked<Value: FixedWidthInteger>(_ value: Value?) -> Value {
    guard !hasFailed, let value else {
      hasFailed = true
      return 0
    }
    return value
  }

  mutating func u8() -> UInt8 {
    guard !hasFailed, let byte = cursor.readByte() else {
      hasFailed = true
      return 0
    }
    return byte
  }

  mutating func u16() -> UInt16 { checked(cursor.read(UInt16.self)) }

  /// Reads an unsigned integer of 1 to 8 bytes.
  mutating func unsigned(_ width: Int) -> UInt64 { checked(cursor.readUnsigned(width: width)) }

  mutating func uleb() -> UInt64 {
    guard !hasFailed, let value = cursor.readULEB() else {
      hasFailed = true
      return 0
    }
    return value
  }

  mutating func sleb() -> Int64 { checked(cursor.readSLEB()) }

  /// Reads text and its NUL; returns the range of the text in the bytes.
  mutating func textRange() -> Range<Int> {
    guard !hasFailed, let text = cursor.readCString() else {
      hasFailed = true
      return 0..<0
    }
    return text.indices
  }

  /// Reads the initial length of a unit, and returns it with the size of offsets in bytes; nil for a reserved value
  /// or past the end.
  ///
  /// The caller must check for nil, because a failure does not set `hasFailed`.
  mutating func initialLength() -> (length: UInt64, offsetSize: Int)? {
    cursor.readInitialLength()
  }
}
