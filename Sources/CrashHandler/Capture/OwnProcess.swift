internal import CSignalSafe

/// Tells the handler's own process from a copy of it, and from another one that runs in its memory.
///
/// A copy has memory of its own, where the kernel has wiped the mark: also one that no atfork handler
/// has seen, made by `_Fork` or a raw clone, or in which a handler crashed that was registered
/// before ours; and also the first process of a PID namespace whose parent has the same number. It
/// becomes a process of the handler's when it first needs the handler. A child of vfork, and every
/// other one that shares the memory, finds the mark as it was and another process ID.
///
/// Where the kernel wipes nothing (before 4.14) a copy is known by our atfork handler alone.
///
/// RUNS-DURING-CRASH. Source: madvise(2), MADV_WIPEONFORK.
@safe
struct OwnProcess {
  // What the mark says; while a thread makes the copy its own, that thread's ID with this bit.
  private static var wiped: UInt32 { @_noLocks get { 0 } }
  static var whole: UInt32 { @_noLocks get { 1 } }
  private static var inWork: UInt32 { @_noLocks get { 1 &<< 31 } }

  private let state: UnsafeMutablePointer<HandlerState>

  @_noLocks
  init(_ state: UnsafeMutablePointer<HandlerState>) {
    unsafe self.state = state
  }

  /// True in the process that the state speaks of; false in a copy that is not its own yet.
  var isCurrent: Bool {
    @_noLocks get {
      guard unsafe state.pointee.copyMark.value == OwnProcess.whole else { return false }
      // Under a filter that refuses the call nobody can be told apart.
      let processID = pm_getpid()
      return unsafe processID < 0 || processID == state.pointee.processID
    }
  }

  /// The same, after making a copy its own.
  ///
  /// False in a process that runs in another one's memory. Of several threads of a copy one does
  /// the work and the others wait, ten seconds at most.
  @_noLocks
  func become() -> Bool {
    let mark = unsafe state.pointee.copyMark
    let worker = OwnProcess.inWork | UInt32(bitPattern: pm_gettid())
    var rounds = 0
    while rounds < 100 {
      let found = mark.exchange(expected: OwnProcess.wiped, desired: worker)
      if found == OwnProcess.wiped {
        leaveParent()
        mark.store(OwnProcess.whole)
        mark.wakeAll()
        return true
      }
      if found == OwnProcess.whole { return isCurrent }
      // A fault in that work comes back to the thread that does it.
      if found == worker { return false }
      mark.wait(while: found, milliseconds: 100)
      rounds &+= 1
    }
    return false
  }

  /// What our atfork handler does: the process is a copy also where the kernel does not tell.
  @_noLocks
  func becomeForked() {
    if unsafe !state.pointee.wipesMark { unsafe state.pointee.copyMark.store(OwnProcess.wiped) }
    _ = become()
  }

  /// Lets go of what a copy shares with its parent: the dump file, whose offset the two would share,
  /// and the FIFO, whose open end says that the parent lives.
  ///
  /// A crash makes files of its own. Under the rules of crash code also at a fork, because a child of
  /// a process with threads may do no more.
  @_noLocks
  private func leaveParent() {
    // Not if the program had closed them: the numbers may be somebody else's.
    unsafe DumpFile(state).close()
    if unsafe state.pointee.isSame(
      state.pointee.fifoIdentity, state.pointee.fifoDescriptor)
    {
      _ = unsafe pm_close(state.pointee.fifoDescriptor)
    }
    unsafe state.pointee.fifoDescriptor = -1
    if unsafe state.pointee.isSame(
      state.pointee.recordIdentity, state.pointee.recordDescriptor)
    {
      _ = unsafe pm_close(state.pointee.recordDescriptor)
    }
    unsafe state.pointee.recordDescriptor = -1
    // The kernel has kept the page from the child.
    unsafe state.pointee.recordMapping = RecordMapping()
    unsafe state.pointee.followsRun = false
    unsafe state.pointee.hasTermination = false
    unsafe state.pointee.isForkedChild = true
    unsafe state.pointee.needsFile = true
    unsafe state.pointee.run.isOfThisProcess = false
    // Another thread of the parent may have been capturing; it is not in the child.
    unsafe Rearming(state).reset()
    unsafe ThreadStopper(state).releaseAll()
    unsafe WaitingCrashes(state).removeAll()
    pm_forget_entry_stacks()
    unsafe state.pointee.dumpingThreads.removeAll()
    leaveHangDumps()
    unsafe state.pointee.owner.store(0)
    unsafe state.pointee.ending.store(0)
    unsafe state.pointee.survivedCrashes = 0
    unsafe state.pointee.knownFaults.removeAll()
    unsafe state.pointee.abortingThread = 0
    // Timers are not inherited.
    if unsafe state.pointee.makes(CallBit.timers) {
      unsafe state.pointee.timer = WatchdogTimer.make(signal: state.pointee.watchdogSignal)
    }
    unsafe state.pointee.processID = pm_getpid()
  }

  /// Closes what of the parent's hangs the child has; the files are the parent's.
  @_noLocks
  private func leaveHangDumps() {
    let dumps = unsafe state.pointee.hangDumps
    var index = 0
    while index < HangDumps.capacity {
      if dumps.isValid(index) { dumps.close(index) }
      index &+= 1
    }
  }
}
