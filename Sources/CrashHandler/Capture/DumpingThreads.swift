internal import CSignalSafe

/// The threads that take a dump without a crash, each with the state it works on.
///
/// A fault in a section of such a dump belongs to the section, not to the program, and comes to the
/// crash handler all the same: it finds the landing pad here. Only a thread itself adds, removes
/// and looks up its entry, so that no state is used after it is gone.
///
/// RUNS-DURING-CRASH.
@safe
struct DumpingThreads {
  static var capacity: Int { @_noLocks get { 64 } }
  /// Bytes of the table: thread ID (8) and state (8) each.
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
      // Taken with a number that is no thread's; the thread ID last, when the state is there.
      if word(index).exchange(expected: 0, desired: UInt32.max) == 0 {
        unsafe (base + index &* 16).storeBytes(
          of: UInt64(UInt(bitPattern: capture.argument)), toByteOffset: 8, as: UInt64.self)
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
    let address = unsafe (base + index &* 16).loadUnaligned(
      fromByteOffset: 8, as: UInt64.self)
    guard
      let session = unsafe UnsafeMutablePointer<Session>(
        bitPattern: UInt(truncatingIfNeeded: address))
    else { return nil }
    return unsafe Capture(session)
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
  private func word(_ index: Int) -> FutexWord {
    unsafe FutexWord((base + index &* 16).assumingMemoryBound(to: UInt32.self))
  }
}
