internal import CSignalSafe

/// The threads found in a crash: a fixed table of raw records, filled by the capturing thread and
/// by each stopped thread.
///
/// RUNS-DURING-CRASH.
@safe
struct ThreadTable {
  /// Bytes of one record.
  static var stride: Int { @_noLocks get { 320 } }
  /// The longest thread name kept, in bytes: 15 by the kernel's rule, each escaped by proc(5) to at
  /// most 4.
  static var nameCapacity: Int { @_noLocks get { 64 } }

  /// The longest text of a system call kept, in bytes: ten numbers of 18 digits and their blanks.
  static var systemCallCapacity: Int { @_noLocks get { 192 } }
  /// Threads whose system call is read: 15 microseconds each, which thousands would feel.
  static var systemCallThreads: Int { @_noLocks get { 512 } }

  let capacity: Int
  private let base: UnsafeMutableRawPointer
  private let countWord: FutexWord

  @_noLocks
  init(base: UnsafeMutableRawPointer, capacity: Int, countWord: FutexWord) {
    unsafe self.base = base
    self.capacity = capacity
    self.countWord = countWord
  }

  var count: Int { @_noLocks get { Int(truncatingIfNeeded: countWord.value) } }

  @_noLocks
  subscript(index: Int) -> ThreadRecord {
    @_noLocks get { unsafe ThreadRecord(base: base + index &* ThreadTable.stride) }
  }

  /// The record of a thread; nil if it is not in the table.
  ///
  /// A stopped thread finds its own record with this. Linear, but in every thread at once: 4,096
  /// threads cost less than the signals that stopped them.
  @_noLocks
  func find(_ threadID: Int32) -> ThreadRecord? {
    let count = self.count
    var index = 0
    while index < count {
      let record = self[index]
      if record.threadID == threadID { return record }
      index &+= 1
    }
    return nil
  }

  /// Adds a thread; nil if the table is full.
  @_noLocks
  func add(_ threadID: Int32) -> ThreadRecord? {
    let index = count
    guard index < capacity else { return nil }
    let record = self[index]
    record.reset(threadID: threadID)
    // Published only now, so that a thread that looks for itself sees whole records.
    countWord.store(UInt32(truncatingIfNeeded: index &+ 1))
    return record
  }

  @_noLocks
  func removeAll() {
    countWord.store(0)
  }
}
