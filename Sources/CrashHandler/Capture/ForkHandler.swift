internal import CSignalSafe
internal import IntermediateDump

/// Runs in a child that fork(2) has made, before fork returns there.
///
/// The child lets go of what it shares with its parent: the dump file, whose offset the two would
/// share, and the FIFO, whose open end says that the parent lives. A crash of the child makes
/// files of its own. Children of vfork and of a raw clone do not come here: they run in the parent's
/// memory or are nobody's business, and their crashes leave everything alone.
///
/// Under the rules of crash code, because a child of a process with threads may do no more. Source:
/// pthread_atfork(3), fork(2).
@c(pm_handle_fork) @_noLocks
func pm_handle_fork() {
  guard let stateAddress = unsafe pm_state() else { return }
  let state = unsafe stateAddress.assumingMemoryBound(to: HandlerState.self)
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
  unsafe state.pointee.isForkedChild = true
  unsafe state.pointee.needsFile = true
  unsafe state.pointee.run.isOfThisProcess = false
  // Another thread of the parent may have been capturing; it is not in the child.
  unsafe Rearming(state).reset()
  unsafe ThreadStopper(state).releaseAll()
  unsafe WaitingCrashes(state).removeAll()
  unsafe state.pointee.dumpingThreads.removeAll()
  unsafe leaveHangDumps(state)
  unsafe state.pointee.owner.store(0)
  unsafe state.pointee.ending.store(0)
  unsafe state.pointee.survivedCrashes = 0
  unsafe state.pointee.lastFault = FaultIdentity()
  unsafe state.pointee.abortingThread = 0
  // Timers are not inherited.
  if unsafe state.pointee.makes(CallBit.timers) {
    unsafe state.pointee.timer = WatchdogTimer.make(signal: state.pointee.watchdogSignal)
  }
  unsafe state.pointee.processID = pm_getpid()
}

/// Closes what of the parent's hangs the child has; the files are the parent's.
@_noLocks
private func leaveHangDumps(_ state: UnsafeMutablePointer<HandlerState>) {
  let dumps = unsafe state.pointee.hangDumps
  var index = 0
  while index < HangDumps.capacity {
    if dumps.isValid(index) { dumps.close(index) }
    index &+= 1
  }
}
