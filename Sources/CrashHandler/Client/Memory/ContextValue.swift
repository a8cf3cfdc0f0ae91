internal import CSignalSafe

/// The names and values of all contexts around a piece of work, as they are stored with a task.
///
/// Self-contained, so that a copy of the runtime's outlives the original. Word 0 is a seal over the
/// rest: what was written over or not written whole does not validate. Word 1 is the work's
/// `WorkKey`. Then the size of the text (2 bytes), the count of contexts that found no room (2), 0
/// (4), and from 24 on the text, outermost first: bytes of a name, with `cutBit` if the value was
/// cut, bytes of its value, the name, the value. 0 up to the next word.
///
/// RUNS-DURING-CRASH; filled by the program.
@safe
struct ContextValue {
  static var byteCount: Int { @_noLocks get { 256 } }
  static var textCapacity: Int { @_noLocks get { 232 } }
  static var nameCapacity: Int { @_noLocks get { 64 } }
  /// Bytes of a value for which outer contexts make room; a longer one is cut before they go.
  private static var leastValue: Int { 32 }
  private static var textOffset: Int { 24 }
  private static var cutBit: UInt8 { 0x80 }

  let base: UnsafeMutableRawPointer

  @_noLocks
  init(_ base: UnsafeMutableRawPointer) {
    unsafe self.base = base
  }

  private func word(_ offset: Int) -> UInt64 {
    unsafe base.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
  }

  private func byte(_ offset: Int) -> UInt8 {
    unsafe base.loadUnaligned(fromByteOffset: offset, as: UInt8.self)
  }

  private func set(_ value: UInt64, at offset: Int) {
    unsafe base.storeBytes(of: value, toByteOffset: offset, as: UInt64.self)
  }

  private func set(_ value: UInt8, at offset: Int) {
    unsafe base.storeBytes(of: value, toByteOffset: offset, as: UInt8.self)
  }

  var work: UInt64 { @_noLocks get { word(8) } }
  private var textCount: Int { Int(truncatingIfNeeded: word(16) & 0xFFFF) }
  var omittedCount: UInt64 { @_noLocks get { word(16) &>> 16 & 0xFFFF } }

  /// The seal of what lies here; never 0.
  ///
  /// An odd factor for each word finds every change of one.
  private var expectedSeal: UInt64 {
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

  /// True if it is as it was sealed.
  var isValid: Bool {
    @_noLocks get {
      word(16) &>> 32 == 0 && textCount <= ContextValue.textCapacity && word(0) == expectedSeal
    }
  }

  /// One name with its value.
  struct Entry {
    let name: Bytes
    let value: Bytes
    let isCut: Bool
    /// The offset of the next.
    let next: Int
  }

  /// The context at an offset, from 0 on; nil behind the last.
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

  // MARK: - Filling

  /// Begins with the contexts around one that is to be added, or none.
  ///
  /// Leaves out the one of the same name, in whose place it comes, and the outermost ones where their
  /// text would leave no room for the name and the beginning of the value.
  @_noLocks
  func begin(inside outer: ContextValue?, work: UInt64, adding name: Bytes, valueCount: Int) {
    guard let outer else {
      set(work, at: 8)
      return set(0 as UInt64, at: 16)
    }
    set(outer.work, at: 8)
    set(outer.omittedCount &<< 16, at: 16)
    let least = valueCount < ContextValue.leastValue ? valueCount : ContextValue.leastValue
    let isAdded = name.count <= ContextValue.nameCapacity
    var excess = outer.textCount &- ContextValue.textCapacity
    if isAdded { excess &+= 2 &+ name.count &+ least }
    var offset = 0
    while let entry = outer.entry(offset) {
      if entry.name.isSame(as: name) { excess &-= entry.next &- offset }
      offset = entry.next
    }
    offset = 0
    while let entry = outer.entry(offset) {
      let size = entry.next &- offset
      if entry.name.isSame(as: name) {
        // The one that is added comes in its place.
      } else if excess > 0 {
        excess &-= size
        omit()
      } else {
        unsafe pm_copy_text(
          base + (ContextValue.textOffset &+ textCount),
          outer.base + (ContextValue.textOffset &+ offset), size)
        set(word(16) &+ UInt64(truncatingIfNeeded: size), at: 16)
      }
      offset = entry.next
    }
  }

  /// Bytes that the value of a name may have; nil if the name finds no room.
  @_noLocks
  func room(nameCount: Int) -> Int? {
    let room = ContextValue.textCapacity &- textCount &- 2 &- nameCount
    return nameCount <= ContextValue.nameCapacity && room >= 0 ? room : nil
  }

  /// Counts a context that found no room.
  @_noLocks
  func omit() {
    if omittedCount < 0xFFFF { set(word(16) &+ 0x1_0000, at: 16) }
  }

  /// Adds a context that has room.
  @_noLocks
  func add(name: Bytes, value: Bytes, isCut: Bool) {
    let offset = ContextValue.textOffset &+ textCount
    let head = UInt8(truncatingIfNeeded: name.count) | (isCut ? ContextValue.cutBit : 0)
    set(head, at: offset)
    set(UInt8(truncatingIfNeeded: value.count), at: offset &+ 1)
    unsafe pm_copy_text(base + (offset &+ 2), name.address, name.count)
    unsafe pm_copy_text(base + (offset &+ 2 &+ name.count), value.address, value.count)
    set(word(16) &+ UInt64(truncatingIfNeeded: 2 &+ name.count &+ value.count), at: 16)
  }

  @_noLocks
  func seal() {
    var offset = textCount
    while offset & 7 != 0 {
      set(0 as UInt8, at: ContextValue.textOffset &+ offset)
      offset &+= 1
    }
    set(expectedSeal, at: 0)
  }

  /// Makes it invalid, so that nobody takes what is left of it for a value.
  @_noLocks
  func breakSeal() { set(0 as UInt64, at: 0) }
}
