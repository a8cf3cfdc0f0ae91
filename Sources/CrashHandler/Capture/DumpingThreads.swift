internal import CSignalSafe

/// The threads that take a dump without a crash, each with the capture it works on.
///
/// A fault in a section of such a dump belongs to the section, not to the program, and comes to the
/// crash handler all the same: it finds the landing pad here. Only a thread itself adds, removes
/// and looks up its entry, so that no state is used after it is gone.
///
/// RUNS-DURING-CRASH.
@safe
struct DumpingThreads {
  static var capacity: Int { @_noLocks get { 64 } }
  private struct Entry {
    /// 0 if nobody has it.
    let threadID: UInt32
    var capture: Capture?
  }

  /// Bytes of the table, 16 for an entry.
  static var byteCount: Int { @_noLocks get { 64 &* 16 } }

  private let base: UnsafeMutableRawPointer
  /// Counts the entries that were given back.
  let freed: FutexWord

  @_noLocks
  init(base: UnsafeMutableRawPointer, freed: FutexWord) {
    unsafe self.base = base
    self.freed = freed
  }

  /// Adds the calling thread; false if the table is full.
  @_noLocks
  func add(_ threadID: Int32, _ capture: Capture) -> Bool {
    var index = 0
    while index < DumpingThreads.capacity {
      // Taken with a number that is no thread's; the thread ID last, when the rest is there.
      if word(index).exchange(expected: 0, desired: UInt32.max) == 0 {
        unsafe entry(index).pointee.capture = capture
        word(index).store(UInt32(bitPattern: threadID))
        return true
      }
      index &+= 1
    }
    return false
  }

  /// Takes the calling thread out.
  @_noLocks
  func remove(_ threadID: Int32) {
    let index = index(of: threadID)
    guard index >= 0 else { return }
    word(index).store(0)
    freed.add(1)
    freed.wakeAll()
  }

  /// Takes all out, in a process whose threads are gone.
  @_noLocks
  func removeAll() {
    var index = 0
    while index < DumpingThreads.capacity {
      word(index).store(0)
      index &+= 1
    }
  }

  /// What the calling thread works on; nil if it takes no dump.
  @_noLocks
  func capture(of threadID: Int32) -> Capture? {
    let index = index(of: threadID)
    guard index >= 0 else { return nil }
    return unsafe entry(index).pointee.capture
  }

  /// -1 if there is none.
  @_noLocks
  private func index(of threadID: Int32) -> Int {
    var index = 0
    while index < DumpingThreads.capacity {
      if word(index).value == UInt32(bitPattern: threadID) { return index }
      index &+= 1
    }
    return -1
  }

  @_noLocks
  private func entry(_ index: Int) -> UnsafeMutablePointer<Entry> {
    unsafe (base + index &* 16).assumingMemoryBound(to: Entry.self)
  }

  @_noLocks
  private func word(_ index: Int) -> FutexWord {
    unsafe FutexWord((base + index &* 16).assumingMemoryBound(to: UInt32.self))
  }
}
