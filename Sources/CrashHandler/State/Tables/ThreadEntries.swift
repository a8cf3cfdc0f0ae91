/// A table with one entry for each thread that waits to capture its crash (`Shared.waiting`), or that takes a dump
/// without a crash (`Shared.dumpingThreads`).
///
/// Each thread adds and removes only its own entry. Only a forked child removes all entries.
///
/// RUNS-DURING-CRASH.
@safe
struct ThreadEntries {
  /// What a thread has stored in its entry.
  @safe
  struct Value {
    let address: UnsafeMutableRawPointer?
    let threadPointer: UInt64

    @_noLocks
    init(_ address: UnsafeMutableRawPointer?, threadPointer: UInt64 = 0) {
      unsafe self.address = address
      self.threadPointer = threadPointer
    }
  }

  private struct Entry {
    /// The ID of the thread; 0 if the entry is free, and `UInt32.max` while it is being filled.
    let threadID: UInt32
    var value: Value
  }

  /// The number of bytes of one entry.
  private static var stride: Int { 32 }

  /// Returns the size of a table in bytes; the table begins with the number of entries that were ever used.
  @_noLocks
  static func byteCount(capacity: Int) -> Int { stride &* (capacity &+ 1) }

  let base: UnsafeMutableRawPointer
  let capacity: Int

  /// Adds the calling thread; returns false if there is no room.
  @_noLocks
  func add(_ threadID: Int32, _ value: Value) -> Bool {
    for index in Indices(capacity) {
      let word = word(index)
      // The entry is first reserved with a number that is not a thread ID. The thread ID is stored last, so that a
      // reader that finds the thread ID finds a complete entry.
      if word.value == 0, word.exchange(expected: 0, desired: UInt32.max) == 0 {
        unsafe entry(index).pointee.value = value
        noteUse(of: index)
        _ = word.exchange(expected: UInt32.max, desired: UInt32(bitPattern: threadID))
        return true
      }
    }
    return false
  }

  /// Removes the calling thread.
  @_noLocks
  func remove(_ threadID: Int32) {
    let index = index(of: threadID)
    if index >= 0 { word(index).store(0) }
  }

  /// Removes all entries; called in a forked child, where the threads that added them do not exist.
  @_noLocks
  func removeAll() {
    for index in Indices(count) { word(index).store(0) }
  }

  /// Returns what a thread has stored; nil if the thread has no entry.
  @_noLocks
  func value(of threadID: Int32) -> Value? {
    let index = index(of: threadID)
    guard index >= 0 else { return nil }
    return unsafe entry(index).pointee.value
  }

  /// The ID of the thread in an entry; 0 if the entry is free, or is still being filled.
  @_noLocks
  func threadID(at index: Int) -> Int32 {
    let value = word(index).value
    return value == UInt32.max ? 0 : Int32(bitPattern: value)
  }

  /// The number of entries that were ever used.
  var count: Int { @_noLocks get { Int(truncatingIfNeeded: countWord.value) } }

  // MARK: - Places

  private var countWord: FutexWord {
    unsafe FutexWord(base.assumingMemoryBound(to: UInt32.self))
  }

  private func noteUse(of index: Int) {
    let needed = UInt32(truncatingIfNeeded: index &+ 1)
    var known = countWord.value
    while known < needed {
      let found = countWord.exchange(expected: known, desired: needed)
      if found == known { return }
      known = found
    }
  }

  /// The index of a thread's entry; -1 if there is none.
  private func index(of threadID: Int32) -> Int {
    for index in Indices(count) {
      if word(index).value == UInt32(bitPattern: threadID) { return index }
    }
    return -1
  }

  private func entry(_ index: Int) -> UnsafeMutablePointer<Entry> {
    unsafe (base + (index &+ 1) &* ThreadEntries.stride).assumingMemoryBound(to: Entry.self)
  }

  @_noLocks
  func word(_ index: Int) -> FutexWord {
    unsafe FutexWord(
      UnsafeMutableRawPointer(entry(index)).assumingMemoryBound(to: UInt32.self))
  }
}
