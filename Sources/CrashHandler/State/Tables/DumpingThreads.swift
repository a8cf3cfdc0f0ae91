/// The threads that take a dump for a reason other than a crash, each with its `Capture`.
///
/// A fault in a section of such a dump is not a crash of the program, but the fault also reaches the crash handler,
/// which finds the section's recovery point through this table. Each thread adds, removes and looks up only its own
/// entry, so no state is used after it was freed.
///
/// RUNS-DURING-CRASH.
@safe
struct DumpingThreads {
  static var capacity: Int { @_noLocks get { 64 } }
  @safe
  private struct Entry {
    /// The ID of the thread; 0 if the entry is free.
    let threadID: UInt32
    /// The argument of the thread's `Capture`.
    var dump: UnsafeMutableRawPointer?
  }

  /// The size of the table in bytes, 16 for each entry.
  static var byteCount: Int { @_noLocks get { 64 &* 16 } }

  let base: UnsafeMutableRawPointer
  /// How many times an entry of the table was freed.
  let freed: FutexWord

  /// Adds the calling thread; returns false if the table is full.
  @_noLocks
  func add(_ threadID: Int32, _ dump: UnsafeMutableRawPointer) -> Bool {
    var index = 0
    while index < DumpingThreads.capacity {
      // The entry is first reserved with a number that is not a thread ID. The thread ID is stored last, after the
      // rest of the entry.
      if word(index).exchange(expected: 0, desired: UInt32.max) == 0 {
        unsafe entry(index).pointee.dump = dump
        word(index).store(UInt32(bitPattern: threadID))
        return true
      }
      index &+= 1
    }
    return false
  }

  /// Removes the calling thread.
  @_noLocks
  func remove(_ threadID: Int32) {
    let index = index(of: threadID)
    guard index >= 0 else { return }
    word(index).store(0)
    freed.add(1)
    freed.wakeAll()
  }

  /// Removes all entries; called in a forked child, where those threads do not exist.
  @_noLocks
  func removeAll() {
    var index = 0
    while index < DumpingThreads.capacity {
      word(index).store(0)
      index &+= 1
    }
  }

  /// Returns the dump that the calling thread is taking; nil if there is none.
  @_noLocks
  func dump(of threadID: Int32) -> UnsafeMutableRawPointer? {
    let index = index(of: threadID)
    guard index >= 0 else { return nil }
    return unsafe entry(index).pointee.dump
  }

  /// The index of a thread's entry; -1 if there is none.
  private func index(of threadID: Int32) -> Int {
    var index = 0
    while index < DumpingThreads.capacity {
      if word(index).value == UInt32(bitPattern: threadID) { return index }
      index &+= 1
    }
    return -1
  }

  private func entry(_ index: Int) -> UnsafeMutablePointer<Entry> {
    unsafe (base + index &* 16).assumingMemoryBound(to: Entry.self)
  }

  private func word(_ index: Int) -> FutexWord {
    unsafe FutexWord((base + index &* 16).assumingMemoryBound(to: UInt32.self))
  }
}
