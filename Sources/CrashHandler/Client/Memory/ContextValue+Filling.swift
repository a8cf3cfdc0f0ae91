internal import CSignalSafe

/// Fills a context value for the program; the crash handler only reads the value.
extension ContextValue {
  static var nameCapacity: Int { @_noLocks get { 64 } }
  /// How many bytes of a new value are stored even if outer contexts must be left out to make room; further bytes are
  /// cut if they do not fit.
  private static var leastValue: Int { 32 }

  /// Starts this record with a copy of the outer contexts, if there are any.
  ///
  /// An outer context that has the name of the new context is left out, because the new context replaces it. The
  /// outermost contexts are also left out if there would be no room for the new name and the beginning of the new
  /// value.
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
      if entry.name.isEqual(to: name) { excess &-= entry.next &- offset }
      offset = entry.next
    }
    offset = 0
    while let entry = outer.entry(offset) {
      let size = entry.next &- offset
      if entry.name.isEqual(to: name) {
        // The new context has the same name and replaces this context.
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

  /// Returns how many bytes are left for the value of a context whose name has this length; nil if the name does not
  /// fit.
  @_noLocks
  func room(nameCount: Int) -> Int? {
    let room = ContextValue.textCapacity &- textCount &- 2 &- nameCount
    return nameCount <= ContextValue.nameCapacity && room >= 0 ? room : nil
  }

  /// Counts a context for which there was no room.
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

  /// Makes the value invalid, so that no reader uses its remains in memory.
  @_noLocks
  func breakSeal() { set(0 as UInt64, at: 0) }

  private func set(_ value: UInt64, at offset: Int) {
    unsafe base.storeBytes(of: value, toByteOffset: offset, as: UInt64.self)
  }

  private func set(_ value: UInt8, at offset: Int) {
    unsafe base.storeBytes(of: value, toByteOffset: offset, as: UInt8.self)
  }
}

extension Bytes {
  @_noLocks
  fileprivate func isEqual(to other: Bytes) -> Bool {
    unsafe count == other.count && pm_bytes_equal(address, other.address, count) != 0
  }
}
