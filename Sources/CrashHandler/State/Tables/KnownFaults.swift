/// The last handled fault on each thread, and whether the previous handler returned after that fault.
///
/// If a previous handler returns without having removed the cause of a fault, the same fault occurs again and again.
/// If the handler leaves through siglongjmp instead, the fault is over, and the next fault is another crash, even at
/// the same instruction with the same stack.
///
/// The table has a fixed size; new entries replace old ones. Only the capturing thread adds and looks up entries, but
/// a previous handler may return, and mark its entry, while another thread is already capturing.
///
/// RUNS-DURING-CRASH.
@safe
struct KnownFaults {
  private static var capacity: Int { 16 }
  private static var stride: Int { 48 }
  /// The number of bytes of the table.
  ///
  /// An entry holds a `FaultIdentity` and, at offset 40, a word. In a used entry, the word is twice the fault's
  /// number, plus one after the fault's handler has returned. In a free entry, the word is 0. The number of the last
  /// fault follows the entries.
  static var byteCount: Int { @_noLocks get { capacity &* stride &+ 8 } }

  let base: UnsafeMutableRawPointer

  /// True if the last fault on the thread was the same fault, and the handler of that fault has returned.
  @_noLocks
  func isRepetition(_ fault: FaultIdentity) -> Bool {
    let index = index(of: fault)
    guard index >= 0, word(index).value & 1 == 1 else { return false }
    return unsafe place(index).pointee.isEqual(to: fault)
  }

  /// Stores the fault as the last fault on its thread.
  ///
  /// - Returns: the fault's number; 0 if `fault` stands for no fault.
  @_noLocks
  func add(_ fault: FaultIdentity) -> UInt32 {
    guard !fault.isNone else { return 0 }
    let last = unsafe FutexWord(
      (base + KnownFaults.capacity &* KnownFaults.stride).assumingMemoryBound(to: UInt32.self))
    // The number has 31 bits, because one bit of the word shows whether the handler has returned.
    let number = last.value >= UInt32.max / 2 ? 1 : last.value &+ 1
    last.store(number)
    var index = index(of: fault)
    if index < 0 {
      index = Int(truncatingIfNeeded: number) & (KnownFaults.capacity &- 1)
    }
    // The word is cleared first, so that the return from an earlier fault's handler is not mistaken for the return
    // from this fault's handler.
    word(index).store(0)
    unsafe place(index).pointee = fault
    word(index).store(number &* 2)
    return number
  }

  /// Notes that the previous handler has returned after a fault, unless another fault has reused the entry.
  @_noLocks
  func noteReturn(_ number: UInt32) {
    guard number != 0 else { return }
    for index in Indices(KnownFaults.capacity) {
      if word(index).exchange(expected: number &* 2, desired: number &* 2 | 1) == number &* 2 {
        return
      }
    }
  }

  /// Removes all faults; called in a forked child, whose threads are different.
  @_noLocks
  func removeAll() {
    for index in Indices(KnownFaults.capacity) {
      word(index).store(0)
    }
  }

  /// The index of the entry for a fault's thread; -1 if there is none.
  private func index(of fault: FaultIdentity) -> Int {
    for index in Indices(KnownFaults.capacity) {
      if word(index).value != 0, unsafe place(index).pointee.isOfThread(of: fault) { return index }
    }
    return -1
  }

  private func place(_ index: Int) -> UnsafeMutablePointer<FaultIdentity> {
    unsafe (base + index &* KnownFaults.stride).assumingMemoryBound(to: FaultIdentity.self)
  }

  private func word(_ index: Int) -> FutexWord {
    unsafe FutexWord(
      (base + (index &* KnownFaults.stride &+ 40)).assumingMemoryBound(to: UInt32.self))
  }
}
