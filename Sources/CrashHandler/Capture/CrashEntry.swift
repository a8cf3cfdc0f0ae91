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
  guard let capture = Capture.ofHandler else { return }
  let entryTime = capture.makes(CallBit.clocks) ? pm_monotonic_clock() : 0
  let end = CrashEnd(capture)
  // If not, a handler that was installed after ours has called it, and goes on when it returns.
  var isKernels = false
  if let context = unsafe context {
    isKernels = unsafe pm_is_kernels_call(context, entryStackPointer) != 0
  }
  var mask: UInt64 = 0
  if !isKernels { _ = unsafe pm_sigprocmask(0, nil, &mask) }
  // In a child of vfork, which runs in its parent's memory, the calls below this line would write
  // the parent's dump.
  guard OwnProcess(capture).become() else {
    unsafe end.passOn(signal, information, context)
    return
  }
  let threadID = pm_gettid()
  if let dump = capture.shared.dumpingThreads.capture(of: threadID) {
    let interrupted = InterruptedDump(dump)
    if unsafe interrupted.land(signal, information, context) { return }
    interrupted.abandon(threadID)
  }
  if capture.shared.owner.value == UInt32(bitPattern: threadID) {
    unblock(capture.installed.signals.capture)
    unsafe end.land(signal, information, context, isKernels: isKernels)
    return
  }
  // Not for a fault on an alternate stack: that is one of a signal handler, the first-chance
  // handler among them, which would be called for its own faults until the stack ends.
  if let context = unsafe context, unsafe pm_context_is_on_signal_stack(context) == 0,
    pm_has_first_chance_handler()
  {
    // Which may take long: the stop signals are let through meanwhile.
    setMask(unsafe pm_context_signal_mask(context) | ~capture.installed.signals.open)
    if unsafe pm_call_first_chance_handler(signal, information, context) { return }
    setMask(~capture.installed.signals.faults)
  }
  unblock(capture.installed.signals.faults)
  guard unsafe end.becomeOwner(threadID, context: context) else {
    unsafe end.passOn(signal, information, context)
    return
  }
  unblock(capture.installed.signals.capture)
  capture.session.exception.signal = signal
  unsafe capture.session.exception.information = information
  unsafe capture.session.exception.context = context
  capture.session.exception.threadID = threadID
  capture.session.exception.entryTime = entryTime
  capture.session.exception.outcomeOffset = 0
  let backtracer = SwiftBacktracer(capture)
  let isBacktraced = unsafe backtracer.takePlace(signal, context)
  let isEnd =
    unsafe isBacktraced && isKernels && backtracer.isEnd(signal, information, context)
  let fate: CrashFate =
    isEnd ? .ends : unsafe end.fate(signal, information, isKernels: isKernels)
  capture.session.exception.isBacktraced = isBacktraced
  capture.session.exception.fate = fate
  let survival = Survival(capture)
  let needsDump = survival.needsDump()
  let fault = capture.session.exception.faultNumber
  if needsDump {
    unsafe pm_call_on_stack(capture.session.stackTop, pm_capture_crash, capture.argument)
    if !fate.isEnd && !isBacktraced { Rearming(capture).rearm() }
  }
  if isBacktraced { unsafe backtracer.run(signal, information, context, isEnd: isEnd) }
  if fate.isEnd {
    unsafe end.end(signal, information, context, isKernels: isKernels)
    return
  }
  let crash = capture.shared.survived.count
  // The fault comes again although the default action was put back: rt_sigaction is kept from us.
  if case .delegated = fate {
    capture.shared.timesReturned =
      capture.session.exception.isRepetition ? capture.shared.timesReturned &+ 1 : 0
  }
  capture.shared.owner.store(0)
  end.wakeWaiting()
  if case .handled = fate, !isBacktraced {
    unsafe PreviousHandler(capture).run(signal, information, context, crash: crash, fault: fault)
  }
  if !isKernels { unsafe goBack(context, mask: mask) }
  if case .delegated = fate {
    capture.shared.knownFaults.noteReturn(fault)
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
