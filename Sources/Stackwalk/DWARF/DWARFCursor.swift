/// A place in a piece of a DWARF section, moved forward by reading.
///
/// Every read is checked against the piece's end and gives nil where it does not fit; the place is
/// then of no use any more. Copies are cheap: the bytes are shared.
///
/// Source: DWARF 5, 7.4 (initial length), 7.6 (LEB128); little-endian, as both architectures are.
struct DWARFCursor {
  private let bytes: [UInt8]
  /// An index into the bytes that the first cursor was made of; pieces keep its numbering.
  private(set) var position: Int
  let end: Int

  /// Starts at the first byte of a range; of all bytes if it is nil, none if it does not fit.
  init(_ bytes: [UInt8], in range: Range<Int>? = nil) {
    self.bytes = bytes
    let range = range ?? 0..<bytes.count
    let fits = range.lowerBound >= 0 && range.upperBound <= bytes.count
    position = fits ? range.lowerBound : 0
    end = fits ? range.upperBound : 0
  }

  var remaining: Int { end - position }
  var isAtEnd: Bool { position >= end }

  /// Moves to an absolute position; false, without moving, if it is outside the piece or behind.
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

  /// Reads a fixed-width integer.
  mutating func read<Value: FixedWidthInteger>(_ type: Value.Type) -> Value? {
    guard MemoryLayout<Value>.size <= remaining else { return nil }
    defer { position += MemoryLayout<Value>.size }
    return bytes.integer(at: position, as: type)
  }

  /// Reads an unsigned integer of 1 to 8 bytes, also of an odd width such as DW_FORM_addrx3's.
  mutating func readUnsigned(width: Int) -> UInt64? {
    guard (1...8).contains(width), width <= remaining else { return nil }
    var value: UInt64 = 0
    for index in (position..<position + width).reversed() {
      value = value << 8 | UInt64(bytes[index])
    }
    position += width
    return value
  }

  /// Reads an unsigned LEB128; nil for a value that 64 bits cannot hold.
  ///
  /// Padding may be of any length.
  mutating func readULEB() -> UInt64? {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while position < end {
      let byte = bytes[position]
      position += 1
      let bits = UInt64(byte & 0x7F)
      if shift < 64 {
        guard (bits << shift) >> shift == bits else { return nil }
        value |= bits << shift
        shift &+= 7
      } else if bits != 0 {
        return nil
      }
      if byte & 0x80 == 0 { return value }
    }
    return nil
  }

  /// Reads a signed LEB128; bits beyond the 64th are dropped, as padding has them.
  mutating func readSLEB() -> Int64? {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while position < end {
      let byte = bytes[position]
      position += 1
      if shift < 64 {
        value |= UInt64(byte & 0x7F) << shift
        shift &+= 7
      }
      if byte & 0x80 == 0 {
        if shift < 64, byte & 0x40 != 0 { value |= .max << shift }
        return Int64(bitPattern: value)
      }
    }
    return nil
  }

  /// Reads an initial length, which also tells the width of offsets in what follows; nil for the
  /// reserved values.
  mutating func readInitialLength() -> (length: UInt64, is64Bit: Bool)? {
    guard let short = read(UInt32.self) else { return nil }
    if short < 0xFFFF_FFF0 { return (UInt64(short), false) }
    guard short == 0xFFFF_FFFF, let length = read(UInt64.self) else { return nil }
    return (length, true)
  }

  /// Reads an offset into a section.
  mutating func readOffset(is64Bit: Bool) -> UInt64? {
    readUnsigned(width: is64Bit ? 8 : 4)
  }

  /// Reads the bytes up to a NUL and passes that; nil if the piece has none.
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

  /// Passes the next `count` bytes and returns a cursor over them.
  mutating func readPiece(count: UInt64) -> DWARFCursor? {
    guard let count = Int(exactly: count), count <= remaining else { return nil }
    defer { position += count }
    return DWARFCursor(bytes, in: position..<position + count)
  }
}
