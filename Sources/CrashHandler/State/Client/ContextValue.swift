/// The names and values of all contexts around a unit of work, in the form that a task stores.
///
/// The value is self-contained, so that a copy made by the Swift runtime outlives the original. Word 0 is a checksum
/// of the other words, which detects a value that was overwritten or not completely written. Word 1 is the `WorkKey`
/// of the unit of work. Word 2 holds the size of the text (2 bytes), the number of contexts for which there was no
/// room (2 bytes), and 0 (4 bytes). The text begins at offset 24, with the outermost context first. For each context,
/// the text contains the length of the name (with `cutBit` if the value was cut), the length of the value, the name
/// and the value. Zeros pad the text to a multiple of 8 bytes.
///
/// RUNS-DURING-CRASH; filled by the program.
@safe
struct ContextValue {
  static var byteCount: Int { @_noLocks get { 256 } }
  static var textCapacity: Int { @_noLocks get { 232 } }
  static var textOffset: Int { @_noLocks get { 24 } }
  static var cutBit: UInt8 { @_noLocks get { 0x80 } }

  let base: UnsafeMutableRawPointer

  @_noLocks
  init(_ base: UnsafeMutableRawPointer) {
    unsafe self.base = base
  }

  @_noLocks
  func word(_ offset: Int) -> UInt64 {
    unsafe base.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
  }

  private func byte(_ offset: Int) -> UInt8 {
    unsafe base.loadUnaligned(fromByteOffset: offset, as: UInt8.self)
  }

  var work: UInt64 { @_noLocks get { word(8) } }
  var textCount: Int { @_noLocks get { Int(truncatingIfNeeded: word(16) & 0xFFFF) } }
  var omittedCount: UInt64 { @_noLocks get { word(16) &>> 16 & 0xFFFF } }

  /// The checksum that this value's words should have; never 0.
  ///
  /// Each word is multiplied by an odd factor, so every change of a single word of the text is detected.
  var expectedSeal: UInt64 {
    @_noLocks get {
      let end = ContextValue.textOffset &+ (textCount &+ 7) & ~7
      var seal: UInt64 = 0x706D_2D63_6F6E_7478
      var factor: UInt64 = 0
      var offset = 8
      while offset < end {
        factor &+= 0x9E37_79B9_7F4A_7C15
        seal &+= word(offset) &* (factor ^ factor &>> 32 | 1)
        offset &+= 8
      }
      return seal == 0 ? 1 : seal
    }
  }

  /// True if the value has not changed since its checksum was set.
  var isValid: Bool {
    @_noLocks get {
      word(16) &>> 32 == 0 && textCount <= ContextValue.textCapacity && word(0) == expectedSeal
    }
  }

  /// One context: its name and its value.
  struct Entry {
    let name: Bytes
    let value: Bytes
    let isCut: Bool
    /// The offset at which `entry` finds the next context.
    let next: Int
  }

  /// Returns the context at an offset (0 for the first context); nil after the last context, or if the context would
  /// extend beyond the text.
  @_noLocks
  func entry(_ offset: Int) -> Entry? {
    guard offset >= 0, offset &+ 2 <= textCount else { return nil }
    let head = byte(ContextValue.textOffset &+ offset)
    let nameCount = Int(head & ~ContextValue.cutBit)
    let valueCount = Int(byte(ContextValue.textOffset &+ offset &+ 1))
    let next = offset &+ 2 &+ nameCount &+ valueCount
    guard next <= textCount else { return nil }
    let text = unsafe base + (ContextValue.textOffset &+ offset &+ 2)
    return unsafe Entry(
      name: Bytes(text, count: nameCount), value: Bytes(text + nameCount, count: valueCount),
      isCut: head & ContextValue.cutBit != 0, next: next)
  }
}
