/// Reads records through a cursor, and remembers that it ran out of bytes.
///
/// After the first read that does not fit every read gives zero, so that a record of many fields is
/// read as a whole and asked once at its end whether it was there.
struct DWARFReader {
  private var cursor: DWARFCursor
  /// True once a read did not fit.
  private(set) var hasFailed: Bool

  /// Reads a part of the bytes; one that does not lie within them has failed already.
  init(_ bytes: [UInt8], from offset: Int = 0, to end: Int? = nil) {
    let end = end ?? bytes.count
    hasFailed = offset < 0 || offset > end || end > bytes.count
    cursor = DWARFCursor(bytes, in: hasFailed ? 0..<0 : offset..<end)
  }

  /// An index into the bytes.
  var offset: Int { cursor.position }
  var end: Int { cursor.end }
  var isAtEnd: Bool { hasFailed || cursor.isAtEnd }

  mutating func fail() { hasFailed = true }

  /// Goes forward to an offset.
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

  mutating func u8() -> UInt8 { checked(cursor.read(UInt8.self)) }
  mutating func u16() -> UInt16 { checked(cursor.read(UInt16.self)) }

  /// A number of one to eight bytes.
  mutating func unsigned(_ width: Int) -> UInt64 { checked(cursor.readUnsigned(width: width)) }

  mutating func uleb() -> UInt64 { checked(cursor.readULEB()) }
  mutating func sleb() -> Int64 { checked(cursor.readSLEB()) }

  /// Passes text up to and with its NUL, and gives its place.
  mutating func textRange() -> Range<Int> {
    guard !hasFailed, let text = cursor.readCString() else {
      hasFailed = true
      return 0..<0
    }
    return text.indices
  }

  /// The length that starts a unit, with the width of offsets in it; nil for a reserved one.
  mutating func initialLength() -> (length: UInt64, offsetSize: Int)? {
    cursor.readInitialLength().map { ($0.length, $0.is64Bit ? 8 : 4) }
  }
}
