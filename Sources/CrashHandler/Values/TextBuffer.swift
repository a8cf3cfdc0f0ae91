internal import CSignalSafe

/// Builds text in memory that the caller provides; leaves out a piece that does not fit, and everything after that
/// piece.
///
/// RUNS-DURING-CRASH.
@safe
struct TextBuffer {
  let place: UnsafeMutableRawPointer
  private(set) var capacity: Int
  private(set) var count = 0
  /// True after a piece of text was left out, because it did not fit.
  private(set) var isCut = false

  @_noLocks
  init(_ place: UnsafeMutableRawPointer, capacity: Int) {
    unsafe self.place = place
    self.capacity = capacity
  }

  /// Adds `count` bytes, which the caller had held back, to the capacity.
  @_noLocks
  mutating func extend(by count: Int) { capacity &+= count }

  /// Removes everything after the first `count` bytes.
  @_noLocks
  mutating func rewind(to count: Int) {
    self.count = count
    isCut = false
  }

  @_noLocks
  mutating func append(byte: UInt8) {
    guard reserve(1) else { return }
    unsafe place.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
    count &+= 1
  }

  @_noLocks
  mutating func append(_ text: StaticString) {
    unsafe append(UnsafeRawPointer(text.utf8Start), count: text.utf8CodeUnitCount)
  }

  @_noLocks
  mutating func append(_ bytes: UnsafeRawPointer, count length: Int) {
    guard length > 0, reserve(length) else { return }
    unsafe pm_copy_bytes(place + count, bytes, length)
    count &+= length
  }

  /// Appends a number in decimal digits.
  ///
  /// - Parameter digits: the minimum number of digits.
  @_noLocks
  mutating func append(decimal value: Int64, digits: Int = 1) {
    if value < 0 { append(byte: 0x2D) }  // "-"
    append(value.magnitude, base: 10, digits: digits)
  }

  /// Appends a number in lowercase hexadecimal digits, without a prefix.
  ///
  /// - Parameter digits: the minimum number of digits.
  @_noLocks
  mutating func append(hexadecimal value: UInt64, digits: Int = 1) {
    append(value, base: 16, digits: digits)
  }

  /// Appends a word and a decimal number.
  @_noLocks
  mutating func append(_ word: StaticString, decimal value: Int64) {
    append(word)
    append(decimal: value)
  }

  @_noLocks
  mutating func append(_ word: StaticString, hexadecimal value: UInt64) {
    append(word)
    append(hexadecimal: value)
  }

  /// Appends each byte as two hexadecimal digits.
  @_noLocks
  mutating func append(hexadecimal bytes: Bytes) {
    for index in Indices(bytes.count) {
      append(hexadecimal: UInt64(bytes[index]), digits: 2)
    }
  }

  private mutating func append(_ value: UInt64, base: UInt64, digits minimum: Int) {
    var digits = minimum
    var rest = value
    var needed = 1
    while rest >= base {
      rest /= base
      needed &+= 1
    }
    if needed > digits { digits = needed }
    guard reserve(digits) else { return }
    rest = value
    var position = count &+ digits
    while position > count {
      position &-= 1
      let digit = UInt8(truncatingIfNeeded: rest % base)
      unsafe place.storeBytes(
        of: digit < 10 ? digit &+ 0x30 : digit &+ 0x57, toByteOffset: position, as: UInt8.self)
      rest /= base
    }
    count &+= digits
  }

  // MARK: - Text that the program chose

  /// Appends text that the program chose, with escapes, so that the text stays on one line and cannot control a
  /// terminal.
  ///
  /// A backslash is doubled. Control characters, bytes that are not UTF-8, and characters that break lines or change
  /// the direction of text are replaced with `\n`, `\r`, `\t`, or `\xHH` for each byte.
  ///
  /// - Parameter limit: the maximum number of bytes to append. A text that needs more than `limit - 6` bytes may be
  ///   cut, and then ends in "...".
  @_noLocks
  mutating func append(_ word: StaticString = "", escaping bytes: Bytes, limit: Int) {
    append(word)
    unsafe append(escaping: bytes.address, count: bytes.count, limit: limit)
  }

  /// Appends NUL-terminated text from the handler's own memory, with escapes.
  @_noLocks
  mutating func append(escaping text: UnsafePointer<CChar>, limit: Int) {
    var count = 0
    // The limit keeps the compiler from replacing this loop with a call of strlen, which crash code must not call.
    while count < limit, unsafe text[count] != 0 { count &+= 1 }
    unsafe append(escaping: UnsafeRawPointer(text), count: count, limit: limit)
  }

  private mutating func append(escaping bytes: UnsafeRawPointer, count length: Int, limit: Int) {
    let end = count &+ limit
    var index = 0
    while index < length {
      // 4 is the maximum size of a character or an escape, and 3 is the size of "...".
      if count &+ 4 &+ 3 > end { return append("...") }
      let byte = unsafe bytes.loadUnaligned(fromByteOffset: index, as: UInt8.self)
      let size = unsafe TextBuffer.plainLength(bytes + index, count: length &- index)
      if size > 0 {
        unsafe append(bytes + index, count: size)
        index &+= size
      } else {
        append(escape: byte)
        index &+= 1
      }
    }
  }

  private mutating func append(escape byte: UInt8) {
    append(byte: 0x5C)
    switch byte {
    case 0x0A: append(byte: 0x6E)
    case 0x0D: append(byte: 0x72)
    case 0x09: append(byte: 0x74)
    case 0x5C: append(byte: 0x5C)
    default:
      append(byte: 0x78)
      append(hexadecimal: UInt64(byte), digits: 2)
    }
  }

  /// The number of bytes of the first character in `bytes`, if it can be written without an escape; 0 if it must be
  /// escaped.
  ///
  /// Source: RFC 3629, section 4, for valid UTF-8.
  private static func plainLength(_ bytes: UnsafeRawPointer, count: Int) -> Int {
    let first = unsafe bytes.loadUnaligned(as: UInt8.self)
    if first < 0x80 { return first < 0x20 || first == 0x7F || first == 0x5C ? 0 : 1 }
    let size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2
    guard first >= 0xC2, first <= 0xF4, size <= count else { return 0 }
    var scalar = UInt32(first) & (0x7F &>> UInt32(truncatingIfNeeded: size))
    var index = 1
    while index < size {
      let byte = unsafe bytes.loadUnaligned(fromByteOffset: index, as: UInt8.self)
      guard byte & 0xC0 == 0x80 else { return 0 }
      scalar = scalar &<< 6 | UInt32(byte & 0x3F)
      index &+= 1
    }
    let smallest: UInt32 = size == 2 ? 0x80 : size == 3 ? 0x800 : 0x1_0000
    guard scalar >= smallest, scalar <= 0x10_FFFF, scalar < 0xD800 || scalar > 0xDFFF else {
      return 0
    }
    return steers(scalar) ? 0 : size
  }

  /// True for C1 control characters, line and paragraph separators, marks of text direction, and the byte order mark.
  private static func steers(_ scalar: UInt32) -> Bool {
    scalar < 0xA0 || (scalar >= 0x2028 && scalar <= 0x202E)
      || (scalar >= 0x2066 && scalar <= 0x2069) || scalar == 0x200E || scalar == 0x200F
      || scalar == 0x061C || scalar == 0xFEFF
  }

  private mutating func reserve(_ length: Int) -> Bool {
    if isCut || length > capacity &- count {
      isCut = true
      return false
    }
    return true
  }
}
