/// Alternate stacks that `startHandler` offers to existing threads, with one record for each thread.
///
/// Each thread takes the offer in the stop handler, because only a thread itself can change its alternate stack. The
/// table is never freed, because a signal may reach a thread long after the offer was withdrawn.
///
/// RUNS-DURING-CRASH: `answer` may run while another thread crashes.
@safe
struct StackOffers {
  struct Record {
    /// The `State` of the offer, which both `startHandler` and the thread to which the stack is offered change
    /// atomically.
    let state: UInt32
    var threadID: Int32
    /// The lowest address of the stack that is offered.
    var base: UInt64
  }

  /// The number of bytes of one record.
  static var stride: Int { @_noLocks get { 16 } }

  enum State {
    static var offered: UInt32 { @_noLocks get { 1 } }
    static var taken: UInt32 { @_noLocks get { 2 } }
    fileprivate static var declined: UInt32 { 3 }
    static var withdrawn: UInt32 { @_noLocks get { 4 } }
  }

  let capacity: Int
  let records: UnsafeMutableRawPointer
  let stackSize: Int
  let sufficientSize: Int
  let count: FutexWord
  /// The number of offers that threads have taken or declined.
  let answers: FutexWord

  @_noLocks
  func state(_ index: Int) -> FutexWord {
    unsafe FutexWord((records + index &* StackOffers.stride).assumingMemoryBound(to: UInt32.self))
  }

  @_noLocks
  func threadID(_ index: Int) -> Int32 {
    unsafe record(index).pointee.threadID
  }

  @_noLocks
  func base(_ index: Int) -> UInt64 {
    unsafe record(index).pointee.base
  }

  @_noLocks
  func record(_ index: Int) -> UnsafeMutablePointer<Record> {
    unsafe (records + index &* StackOffers.stride).assumingMemoryBound(to: Record.self)
  }

  /// The size that is passed to the kernel for the new alternate stack of a thread that had none.
  ///
  /// This size is 48 bytes less than the stack's real size.
  ///
  /// The crash handler recognizes such a stack by this size, without a mark in the stack's memory.
  @_noLocks
  static func firstSize(_ size: Int) -> Int { size &- 48 }

  /// True if an alternate stack of this size was created by this package for a thread that had none.
  @_noLocks
  func isFirst(_ size: UInt64) -> Bool {
    size == UInt64(truncatingIfNeeded: StackOffers.firstSize(stackSize))
  }

  /// Installs the stack that is offered to this thread, or declines the offer if the thread's alternate stack is
  /// large enough.
  ///
  /// This function also unblocks the crash signals that the thread blocks, if `HandlerOptions.keepsCrashSignalsOpen` is
  /// on.
  ///
  /// The new stack and the new mask take effect when the signal handler returns.
  @_noLocks
  func answer(_ threadID: Int32, _ context: SignalContext) {
    let count = Int(truncatingIfNeeded: self.count.value)
    var index = 0
    while index < count, self.threadID(index) != threadID { index &+= 1 }
    guard index < count else { return }
    let hasOne = context.hasSignalStack(UInt64(truncatingIfNeeded: sufficientSize))
    let answer = hasOne ? State.declined : State.taken
    guard state(index).exchange(expected: State.offered, desired: answer) == State.offered
    else { return }
    if !hasOne {
      let isFirst = !context.hasSignalStack(1)
      context.setSignalStack(
        base(index), size: isFirst ? StackOffers.firstSize(stackSize) : stackSize)
    }
    context.openCrashSignals()
    context.tellSignalStack(of: threadID, isHandlers: !hasOne)
    answers.add(1)
    answers.wakeAll()
  }
}
