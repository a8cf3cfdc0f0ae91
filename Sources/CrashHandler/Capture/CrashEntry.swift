internal import CSignalSafe
internal import IntermediateDump

/// The handler of the crash signals: one thread captures, the others wait, and then the process
/// ends as it would have ended without us.
///
/// RUNS-DURING-CRASH. Source: sigaction(2), signal-safety(7).
@c(pm_handle_crash) @_noLocks
func pm_handle_crash(
  _ signal: Int32, _ information: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?
) {
  pm_allow_unaligned_access()
  guard let stateAddress = unsafe pm_state() else { return }
  let state = unsafe stateAddress.assumingMemoryBound(to: HandlerState.self)
  let entryTime = unsafe state.pointee.makes(CallBit.clocks) ? pm_monotonic_clock() : 0
  let end = unsafe CrashEnd(state)
  // A child of vfork or of a raw clone runs in its parent's memory, or has a copy that nobody made
  // its own: the calls below this line would write the parent's dump. A child of fork is known by
  // now.
  let processID = pm_getpid()
  guard unsafe processID < 0 || processID == state.pointee.processID else {
    unsafe end.passOn(signal, information, context)
    return
  }
  unsafe openSignals(state)
  let threadID = pm_gettid()
  let owner = unsafe state.pointee.owner.exchange(
    expected: 0, desired: UInt32(bitPattern: threadID))
  if owner == UInt32(bitPattern: threadID) {
    unsafe end.land(signal, information, context)
    return
  }
  if owner != 0 {
    unsafe WaitingCrashes(state).add(threadID, context: context)
    end.waitForOwner()
    unsafe end.passOn(signal, information, context)
    return
  }
  unsafe state.pointee.signal = signal
  unsafe state.pointee.information = information
  unsafe state.pointee.context = context
  unsafe state.pointee.threadID = threadID
  unsafe state.pointee.entryTime = entryTime
  unsafe pm_call_on_stack(state.pointee.captureStackTop, pm_capture_crash, stateAddress)
  end.releaseThreadsIfNeeded(signal)
  unsafe state.pointee.finished.store(1)
  unsafe state.pointee.finished.wakeAll()
  unsafe end.passOn(signal, information, context)
}

/// Unblocks what must reach a thread in our handler.
///
/// The kernel adds a handler's mask to the thread's own, and libdispatch's workers block every
/// real-time signal. Returning from the handler restores the thread's mask.
@_noLocks
func openSignals(_ state: UnsafeMutablePointer<HandlerState>) {
  var mask = unsafe state.pointee.openSignals
  var attempts = 0
  while unsafe attempts < 3 && pm_sigprocmask(1, &mask, nil) != 0 { attempts &+= 1 }  // SIG_UNBLOCK
}
