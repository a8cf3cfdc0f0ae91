internal import CSignalSafe
internal import IntermediateDump

/// The handler of the crash signals: one thread captures, the others wait, and then the process
/// ends or lives on as it would have without us.
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
  let threadID = pm_gettid()
  if let dump = unsafe state.pointee.dumpingThreads.state(of: threadID) {
    let interrupted = unsafe InterruptedDump(dump)
    if unsafe interrupted.land(signal, information, context) { return }
    unsafe interrupted.abandon(threadID, for: state)
  }
  if unsafe state.pointee.owner.value == UInt32(bitPattern: threadID) {
    unsafe unblock(state.pointee.captureSignals)
    unsafe end.land(signal, information, context)
    return
  }
  // Not for a fault on an alternate stack: that is one of a signal handler, the first-chance
  // handler among them, which would be called for its own faults until the stack ends.
  if let context = unsafe context, unsafe pm_context_is_on_signal_stack(context) == 0,
    pm_has_first_chance_handler()
  {
    // Which may take long: the stop signals are let through meanwhile.
    setMask(unsafe pm_context_signal_mask(context) | ~state.pointee.openSignals)
    if unsafe pm_call_first_chance_handler(signal, information, context) { return }
    setMask(unsafe ~state.pointee.faultSignals)
  }
  unsafe unblock(state.pointee.faultSignals)
  guard unsafe end.becomeOwner(threadID, context: context) else {
    unsafe end.passOn(signal, information, context)
    return
  }
  unsafe unblock(state.pointee.captureSignals)
  unsafe state.pointee.signal = signal
  unsafe state.pointee.information = information
  unsafe state.pointee.context = context
  unsafe state.pointee.threadID = threadID
  unsafe state.pointee.entryTime = entryTime
  unsafe state.pointee.outcomeOffset = 0
  unsafe state.pointee.fate = end.fate(signal, information)
  let survival = unsafe Survival(state)
  if survival.needsDump() {
    unsafe pm_call_on_stack(state.pointee.captureStackTop, pm_capture_crash, stateAddress)
    if unsafe state.pointee.fate != .ends { unsafe Rearming(state).rearm() }
  }
  let fate = unsafe state.pointee.fate
  if fate == .ends {
    unsafe end.end(signal, information, context)
    return
  }
  let crash = unsafe state.pointee.survivedCrashes
  unsafe state.pointee.owner.store(0)
  end.wakeWaiting()
  if fate == .handled {
    unsafe PreviousHandler(state).run(signal, information, context, crash: crash)
  }
}

/// Lets signals through to a thread in our handler.
///
/// The kernel adds a handler's mask to the thread's own, and libdispatch's workers block every
/// real-time signal. Returning from the handler restores the thread's mask.
@_noLocks
func unblock(_ signals: UInt64) {
  var mask = signals
  var attempts = 0
  while unsafe attempts < 3 && pm_sigprocmask(1, &mask, nil) != 0 { attempts &+= 1 }  // SIG_UNBLOCK
}

@_noLocks
private func setMask(_ signals: UInt64) {
  var mask = signals
  var attempts = 0
  while unsafe attempts < 3 && pm_sigprocmask(2, &mask, nil) != 0 { attempts &+= 1 }  // SIG_SETMASK
}
