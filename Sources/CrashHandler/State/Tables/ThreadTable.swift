/// The threads that were found when the dump was taken.
///
/// The size of the table is fixed. The capturing thread and the stopped threads fill the records.
///
/// RUNS-DURING-CRASH.
@safe
struct ThreadTable {
  /// The size of one record in bytes.
  static var stride: Int { @_noLocks get { 320 } }
  /// The maximum number of bytes of a thread name.
  ///
  /// The limit is never reached, because the kernel limits the name of a program's thread to 15 bytes.
  static var nameCapacity: Int { @_noLocks get { 64 } }

  /// The maximum number of bytes of a system call's text: nine numbers of up to 18 characters, separated by spaces.
  static var systemCallCapacity: Int { @_noLocks get { 192 } }
  /// The system calls of blocked threads are read as long as the table has at most this number of threads.
  ///
  /// Reading the system call of one thread takes 6 microseconds, which is too long for thousands of threads. Beyond
  /// this number, a system call is read only to find out whether the thread has room for a signal frame.
  static var systemCallThreads: Int { @_noLocks get { 512 } }

  let capacity: Int
  let base: UnsafeMutableRawPointer
  let slots: UnsafeMutablePointer<UInt32>
  let slotMask: Int
  let countWord: FutexWord

  var count: Int { @_noLocks get { Int(truncatingIfNeeded: countWord.value) } }

  @_noLocks
  subscript(index: Int) -> ThreadRecord {
    @_noLocks get { unsafe ThreadRecord(base: base + index &* ThreadTable.stride) }
  }

  /// The record of a thread; nil if it is not in the table.
  ///
  /// A stopped thread uses this function to find its own record.
  @_noLocks
  func find(_ threadID: Int32) -> ThreadRecord? {
    // The kernel assigns consecutive thread IDs, so their slots rarely collide.
    var place = Int(threadID) & slotMask
    for _ in Indices(slotMask &+ 1) {
      let index = Int(truncatingIfNeeded: slot(place).value) &- 1
      guard index >= 0, index < capacity else { return nil }
      let record = self[index]
      if record.threadID == threadID { return record }
      place = (place &+ 1) & slotMask
    }
    return nil
  }

  /// Adds a thread; returns nil if the table is full.
  @_noLocks
  func add(_ threadID: Int32) -> ThreadRecord? {
    let index = count
    guard index < capacity else { return nil }
    let record = self[index]
    record.reset(threadID: threadID)
    var place = Int(threadID) & slotMask
    while slot(place).value != 0 { place = (place &+ 1) & slotMask }
    // The record is published only now, so that a thread that searches for its record sees only complete records.
    slot(place).store(UInt32(truncatingIfNeeded: index &+ 1))
    countWord.store(UInt32(truncatingIfNeeded: index &+ 1))
    return record
  }

  @_noLocks
  func removeAll() {
    var index = count
    // The newest record is removed first. A search (`find`) for a record passes the slots of earlier records, and stops
    // at a free slot. So a slot that is freed too early would hide newer records.
    while index > 0 {
      var place = Int(self[index &- 1].threadID) & slotMask
      var steps = 0
      while steps <= slotMask, slot(place).value != UInt32(truncatingIfNeeded: index) {
        place = (place &+ 1) & slotMask
        steps &+= 1
      }
      if steps <= slotMask { slot(place).store(0) }
      index &-= 1
    }
    countWord.store(0)
  }

  private func slot(_ place: Int) -> FutexWord { unsafe FutexWord(slots + place) }
}
