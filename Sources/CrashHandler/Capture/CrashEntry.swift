internal import CSignalSafe
internal import IntermediateDump

/// The handler of the crash signals: one thread captures, the others wait, and then the process
/// ends or lives on as it would have without us.
///
/// - Parameter entryStackPointer: see `pm_enter_crash`.
///
/// RUNS-DURING-CRASH. Source: sigaction(2), signal-safety(7).
@c(pm_handle_crash) @_noLocks
func pm_handle_crash(
  _ signal: Int32, _ information: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?,
  _ entryStackPointer: UInt64
) {
  unsafe pm_run_crash_handler(pm_in_crash, signal, information, context, entryStackPointer)
}

/// The rest of it, where the thread's control block can be read.
///
/// RUNS-DURING-CRASH.
@c(pm_in_crash) @_noLocks
private func pm_in_crash(
  _ signal: Int32, _ information: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?,
  _ entryStackPointer: UInt64
) {
  pm_allow_unaligned_access()
  guard let stateAddress = unsafe pm_state() else { return }
  let state = unsafe stateAddress.assumingMemoryBound(to: HandlerState.self)
  let entryTime = unsafe state.pointee.makes(CallBit.clocks) ? pm_monotonic_clock() : 0
  let end = unsafe CrashEnd(state)
  // If not, a handler that was installed after ours has called it, and goes on when it returns.
  var isKernels = false
  if let context = unsafe context {
    isKernels = unsafe pm_is_kernels_call(context, entryStackPointer) != 0
  }
  var mask: UInt64 = 0
  if !isKernels { _ = unsafe pm_sigprocmask(0, nil, &mask) }
  // In a child of vfork, which runs in its parent's memory, the calls below this line would write
  // the parent's dump.
  guard unsafe OwnProcess(state).become() else {
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
    unblock(unsafe state.pointee.captureSignals)
    unsafe end.land(signal, information, context, isKernels: isKernels)
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
  unblock(unsafe state.pointee.faultSignals)
  guard unsafe end.becomeOwner(threadID, context: context) else {
    unsafe end.passOn(signal, information, context)
    return
  }
  unblock(unsafe state.pointee.captureSignals)
  unsafe state.pointee.signal = signal
  unsafe state.pointee.information = information
  unsafe state.pointee.context = context
  unsafe state.pointee.threadID = threadID
  unsafe state.pointee.entryTime = entryTime
  unsafe state.pointee.outcomeOffset = 0
  let backtracer = unsafe SwiftBacktracer(state)
  let isBacktraced = unsafe backtracer.takePlace(signal, context)
  let isEnd =
    unsafe isBacktraced && isKernels && backtracer.isEnd(signal, information, context)
  let fate: CrashFate =
    isEnd ? .ends : unsafe end.fate(signal, information, isKernels: isKernels)
  unsafe state.pointee.isBacktraced = isBacktraced
  unsafe state.pointee.fate = fate
  let survival = unsafe Survival(state)
  let needsDump = survival.needsDump()
  let fault = unsafe state.pointee.faultNumber
  if needsDump {
    unsafe pm_call_on_stack(state.pointee.captureStackTop, pm_capture_crash, stateAddress)
    if fate != .ends && !isBacktraced { unsafe Rearming(state).rearm() }
  }
  if isBacktraced { unsafe backtracer.run(signal, information, context, isEnd: isEnd) }
  if fate == .ends {
    unsafe end.end(signal, information, context, isKernels: isKernels)
    return
  }
  let crash = unsafe state.pointee.survivedCrashes
  // The fault comes again although the default action was put back: rt_sigaction is kept from us.
  if fate == .delegated {
    unsafe state.pointee.timesReturned =
      state.pointee.isRepetition ? state.pointee.timesReturned &+ 1 : 0
  }
  unsafe state.pointee.owner.store(0)
  end.wakeWaiting()
  if fate == .handled && !isBacktraced {
    unsafe PreviousHandler(state).run(signal, information, context, crash: crash, fault: fault)
  }
  if !isKernels { unsafe goBack(context, mask: mask) }
  if fate == .delegated {
    unsafe state.pointee.knownFaults.noteReturn(fault)
    unsafe end.delegate(signal, information, context)
  }
}

/// Gives the handler that called ours the thread's alternate stack and mask back as they were; the
/// kernel does so only when that one returns.
///
/// It may leave by siglongjmp instead.
@_noLocks
private func goBack(_ context: UnsafeMutableRawPointer?, mask: UInt64) {
  var mask = mask
  if let context = unsafe context { _ = unsafe pm_restore_signal_stack(context) }
  _ = unsafe pm_sigprocmask(2, &mask, nil)  // SIG_SETMASK
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
