internal import CSignalSafe

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

  /// The checksum that this value's words should have.
  var expectedSeal: UInt64 {
    @_noLocks get {
      var (seal, offset): (UInt64, Int) = (0x706D_2D63_6F6E_7478, 8)
      while offset < byteCountInUse {
        seal &+= ContextValue.mixed(word(offset), at: offset)
        offset &+= 8
      }
      return seal
    }
  }

  /// What a word adds to the checksum.
  ///
  /// Each step can be undone, so every change of a single word is detected. The first multiplication leaves the high
  /// bits where they are; the shift and the second one, by another number for each word, spread them, so that changes of
  /// two words do not cancel each other.
  @_noLocks
  static func mixed(_ word: UInt64, at offset: Int) -> UInt64 {
    let product = word &* 0x9E37_79B9_7F4A_7C15
    let factor: UInt64 = 0x9E37_79B9_7F4A_7C15 &+ UInt64(truncatingIfNeeded: offset)
    return (product ^ product &>> 32) &* factor
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

/// Fills a context value for the program; the crash handler only reads the value.
extension ContextValue {
  static var nameCapacity: Int { @_noLocks get { 64 } }
  /// The number of bytes that a new value can always take, even if there are many contexts.
  ///
  /// Values of outer contexts are cut to this size to make room; if that is not enough, outer contexts are left out.
  private static var leastValue: Int { 32 }

  /// Removes all contexts from this record, and sets its unit of work.
  @_noLocks
  func start(work: UInt64) {
    set(work, at: 8)
    set(0 as UInt64, at: 16)
  }

  /// Copies the outer contexts into this record, and leaves room for a new context; returns the result of `append`.
  @_noLocks
  func copy(
    _ outer: ContextValue?, work: UInt64, addingName name: Bytes, valueCount: Int, mark: Int
  ) -> Int {
    guard let outer else {
      start(work: work)
      return 0
    }
    start(work: outer.work)
    set(outer.omittedCount &<< 16, at: 16)
    let least = valueCount < ContextValue.leastValue ? valueCount : ContextValue.leastValue
    let isAdded = name.count <= ContextValue.nameCapacity
    let room = ContextValue.textCapacity &- (isAdded ? 2 &+ name.count &+ least : 0)
    return append(
      outer, from: 0, capacity: room, leastValue: ContextValue.leastValue, replacing: name,
      mark: mark)
  }

  /// Appends contexts of another record; cuts values and leaves out contexts so that the text fits into `capacity`.
  ///
  /// - Parameters:
  ///   - start: the offset of the first context to be appended.
  ///   - capacity: the maximum size of this record's text.
  ///   - leastValue: the number of bytes to which values may be cut before contexts are left out, outermost first.
  ///   - name: contexts with this name are not appended; nil to append contexts with any name.
  ///   - mark: the offset, in the other record's text, at which the contexts of the current `withContext` call begin;
  ///     `.max` if the record has none.
  /// - Returns: the offset, in this record's text, at which the contexts of the current call begin.
  @_noLocks @discardableResult
  func append(
    _ other: ContextValue, from start: Int, capacity: Int, leastValue: Int,
    replacing name: Bytes? = nil, mark: Int = .max
  ) -> Int {
    var excess = textCount &+ other.textCount &- start &- capacity
    // The number of bytes that can be saved by cutting values to `leastValue`.
    var spare = 0
    var offset = start
    while let entry = other.entry(offset) {
      if let name, entry.name.isEqual(to: name) {
        excess &-= entry.next &- offset
      } else {
        spare &+= entry.spare(leastValue)
      }
      offset = entry.next
    }
    var newMark = textCount
    offset = start
    while let entry = other.entry(offset) {
      let size = entry.next &- offset
      let ownSpare = entry.spare(leastValue)
      if let name, entry.name.isEqual(to: name) {
        // The new context has the same name and replaces this context, so this context is not appended.
      } else if excess > spare {
        excess &-= size
        spare &-= ownSpare
        omit()
      } else if excess > 0, ownSpare > 0 {
        let value = entry.value.cut(
          to: entry.value.count &- (excess < ownSpare ? excess : ownSpare))
        excess &-= entry.value.count &- value.count
        spare &-= ownSpare
        add(name: entry.name, value: value, isCut: true)
      } else {
        unsafe pm_copy_text(
          base + (ContextValue.textOffset &+ textCount),
          other.base + (ContextValue.textOffset &+ offset), size)
        spare &-= ownSpare
        grow(by: size)
      }
      if offset < mark { newMark = textCount }
      offset = entry.next
    }
    return newMark
  }

  /// Returns how many bytes are left for the value of a context whose name has this length; nil if the name does not
  /// fit.
  @_noLocks
  func room(nameCount: Int) -> Int? {
    let room = ContextValue.textCapacity &- textCount &- 2 &- nameCount
    return nameCount <= ContextValue.nameCapacity && room >= 0 ? room : nil
  }

  /// Counts a context for which there was no room, unless the count is at its maximum.
  @_noLocks
  func omit() {
    if omittedCount < 0xFFFF { set(word(16) &+ 0x1_0000, at: 16) }
  }

  /// Adds a context for which there is room.
  @_noLocks
  func add(name: Bytes, value: Bytes, isCut: Bool) {
    let offset = ContextValue.textOffset &+ textCount
    let head = UInt8(truncatingIfNeeded: name.count) | (isCut ? ContextValue.cutBit : 0)
    set(head, at: offset)
    set(UInt8(truncatingIfNeeded: value.count), at: offset &+ 1)
    unsafe pm_copy_text(base + (offset &+ 2), name.address, name.count)
    unsafe pm_copy_text(base + (offset &+ 2 &+ name.count), value.address, value.count)
    grow(by: 2 &+ name.count &+ value.count)
  }

  private func grow(by count: Int) {
    set(word(16) &+ UInt64(truncatingIfNeeded: count), at: 16)
  }

  /// The number of bytes of this record, without the unused part of the space for the text.
  var byteCountInUse: Int { @_noLocks get { ContextValue.textOffset &+ (textCount &+ 7) & ~7 } }

  @_noLocks
  func seal() {
    pad()
    set(expectedSeal, at: 0)
  }

  /// Fills the unused bytes of the text's last word with zeros, because the checksum covers whole words.
  @_noLocks
  func pad() {
    var offset = textCount
    while offset & 7 != 0 {
      set(0 as UInt8, at: ContextValue.textOffset &+ offset)
      offset &+= 1
    }
  }

  /// Makes the value invalid, so that no reader uses it after its memory was released or reused.
  @_noLocks
  func breakSeal() { set(0 as UInt64, at: 0) }

  @_noLocks
  func set(_ value: UInt64, at offset: Int) {
    unsafe base.storeBytes(of: value, toByteOffset: offset, as: UInt64.self)
  }

  private func set(_ value: UInt8, at offset: Int) {
    unsafe base.storeBytes(of: value, toByteOffset: offset, as: UInt8.self)
  }
}

extension ContextValue.Entry {
  /// Returns the number of bytes that can be cut from the value so that `least` bytes remain.
  @_noLocks
  fileprivate func spare(_ least: Int) -> Int {
    value.count > least ? value.count &- least : 0
  }
}

extension Bytes {
  @_noLocks
  fileprivate func isEqual(to other: Bytes) -> Bool {
    unsafe count == other.count && pm_bytes_equal(address, other.address, count) != 0
  }

  /// Returns the first `limit` bytes of a text, or fewer if the limit is inside a character.
  @_noLocks
  fileprivate func cut(to limit: Int) -> Bytes {
    var end = limit
    // A byte 10xxxxxx continues the character before it.
    while end > 0, unsafe address.load(fromByteOffset: end, as: UInt8.self) & 0xC0 == 0x80 {
      end &-= 1
    }
    return unsafe Bytes(address, count: end)
  }
}
