internal import CSignalSafe

/// The threads that crashed while another thread was already capturing, with their contexts.
///
/// These threads get no stop signal, because they already wait, and a small alternate stack may have no room for a
/// second signal frame. So a waiting thread blocks the stop signals, and this table holds the data that the stop
/// handler would have stored. The table has as many entries as the table of threads.
///
/// RUNS-DURING-CRASH.
@safe
struct WaitingCrashes {
  /// The crash of a waiting thread.
  struct Crash {
    /// The context in the thread's signal frame.
    let context: SignalContext?
    let threadPointer: UInt64
  }

  private struct Entry {
    /// The ID of the thread; 0 if the entry is free.
    let threadID: UInt32
    var crash: Crash
  }

  /// The number of bytes of one entry.
  private static var stride: Int { 32 }

  /// Returns the size of a table in bytes; the table begins with the number of entries that were ever used.
  @_noLocks
  static func byteCount(capacity: Int) -> Int { stride &* (capacity &+ 1) }

  let base: UnsafeMutableRawPointer
  let capacity: Int
  /// A signal that was sent to the capturing thread, and is stored until that thread has finished.
  let signal: PostponedSignal

  /// Adds the calling thread; returns false if there is no room.
  @_noLocks
  func add(_ threadID: Int32, context: SignalContext?) -> Bool {
    var index = 0
    while index < capacity {
      let word = word(index)
      // The entry is first reserved with a number that is not a thread ID. The thread ID is stored last, after the
      // rest of the entry.
      if word.value == 0, word.exchange(expected: 0, desired: UInt32.max) == 0 {
        unsafe entry(index).pointee.crash = Crash(
          context: context, threadPointer: pm_thread_pointer())
        noteUse(of: index)
        _ = word.exchange(expected: UInt32.max, desired: UInt32(bitPattern: threadID))
        return true
      }
      index &+= 1
    }
    return false
  }

  /// Removes the calling thread, which no longer waits.
  @_noLocks
  func remove(_ threadID: Int32) {
    let index = index(of: threadID)
    if index >= 0 { word(index).store(0) }
  }

  /// Removes all entries; called in a forked child, where those threads do not exist.
  @_noLocks
  func removeAll() {
    signal.forget()
    let count = count
    var index = 0
    while index < count {
      word(index).store(0)
      index &+= 1
    }
  }

  /// Returns the crash of a thread; nil if the thread is not waiting.
  @_noLocks
  func crash(of threadID: Int32) -> Crash? {
    let index = index(of: threadID)
    guard index >= 0 else { return nil }
    return unsafe entry(index).pointee.crash
  }

  /// The ID of the thread in an entry; 0 if the entry is free.
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
    let count = count
    var index = 0
    while index < count {
      if word(index).value == UInt32(bitPattern: threadID) { return index }
      index &+= 1
    }
    return -1
  }

  private func entry(_ index: Int) -> UnsafeMutablePointer<Entry> {
    unsafe (base + (index &+ 1) &* WaitingCrashes.stride).assumingMemoryBound(to: Entry.self)
  }

  @_noLocks
  func word(_ index: Int) -> FutexWord {
    unsafe FutexWord(
      UnsafeMutableRawPointer(entry(index)).assumingMemoryBound(to: UInt32.self))
  }
}
