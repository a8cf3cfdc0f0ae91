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
  let entryTime = capture.clock
  let end = CrashEnd(capture)
  let crash = unsafe DeliveredSignal(signal, information, context)
  // If not, a handler that was installed after ours has called it, and goes on when it returns.
  let isKernels = crash.context?.isOfKernelsCall(entryStackPointer) ?? false
  let mask = isKernels ? 0 : SignalMask.current
  // In a child of vfork, which runs in its parent's memory, the calls below this line would write
  // the parent's dump.
  guard OwnProcess(capture).become() else {
    end.passOn(crash)
    return
  }
  if isKernels, BlockedSignal(capture).putBack(crash) { return }
  let threadID = pm_gettid()
  if let dump = capture.shared.dumpingThreads.capture(of: threadID) {
    let interrupted = InterruptedDump(dump)
    if interrupted.land(crash) || interrupted.postpone(crash) { return }
    interrupted.abandon(threadID)
  }
  if capture.shared.capturingThread.value == UInt32(bitPattern: threadID) {
    // No fault of the section that runs: the dump goes on. Kept for a process that lives on.
    if end.passesOver(crash) {
      if let information = crash.information { capture.shared.waiting.signal.keep(information) }
      return
    }
    if end.isUnderWay(butNotBy: crash) { LateEnd(capture).end() }
    unblock(capture.installed.signals.capture)
    end.land(crash, isKernels: isKernels)
    return
  }
  // Not for a fault on an alternate stack: that is one of a signal handler, the first-chance
  // handler among them, which would be called for its own faults until the stack ends.
  if let context = crash.context, !context.isOnSignalStack,
    pm_has_first_chance_handler()
  {
    // It may take long: the stop signals are let through meanwhile.
    setMask(context.signalMask | ~capture.installed.signals.open)
    if unsafe pm_call_first_chance_handler(signal, information, context.address) { return }
    setMask(~capture.installed.signals.faults)
  }
  unblock(capture.installed.signals.faults)
  guard end.becomeOwner(threadID, context: crash.context) else {
    end.passOn(crash)
    return
  }
  capture.session.exception.signal = crash
  capture.session.exception.threadID = threadID
  capture.session.exception.entryTime = entryTime
  capture.session.exception.outcomeOffset = 0
  let backtracer = SwiftBacktracer(capture)
  let isForced = isKernels && BlockedSignal(capture).isForced(crash)
  let isBacktraced = !isForced && backtracer.takePlace(crash)
  let isEnd =
    isBacktraced && isKernels && backtracer.isEnd(crash)
  let fate: CrashFate =
    isEnd ? .ends : end.fate(crash, isKernels: isKernels, isForced: isForced)
  capture.session.exception.isBacktraced = isBacktraced
  capture.session.exception.fate = fate
  let survival = SurvivalRecord(capture)
  let needsDump = survival.needsDump()
  let fault = capture.session.exception.faultNumber
  if needsDump {
    blockFaults(capture)
    unsafe pm_call_on_stack(capture.session.stackTop, pm_capture_crash, capture.argument)
    if !fate.isEnd && !isBacktraced { Rearming(capture).rearm() }
  }
  if isBacktraced { backtracer.run(crash, isEnd: isEnd) }
  if fate.isEnd {
    end.end(crash, isKernels: isKernels)
    return
  }
  // 0 for a crash without a dump: what becomes of the process is said in none then.
  let count = capture.session.exception.outcomeOffset > 0 ? capture.shared.survived.count : 0
  // The fault comes again although the default action was put back: rt_sigaction is kept from us.
  if case .delegated = fate {
    capture.shared.timesReturned =
      capture.session.exception.isRepetition ? capture.shared.timesReturned &+ 1 : 0
  }
  // One that comes from here on waits in the kernel.
  blockFaults(capture)
  capture.shared.waiting.signal.sendAgain(threadID, of: capture.shared.process.id)
  capture.shared.capturingThread.store(0)
  end.wakeWaiting()
  if case .handled = fate, !isBacktraced {
    PreviousHandler(capture).run(crash, crash: count, fault: fault)
  }
  if !isKernels { goBack(crash.context, mask: mask) }
  if case .delegated = fate {
    capture.shared.knownFaults.noteReturn(fault)
    end.delegate(crash)
  }
}

/// Gives the handler that called ours the thread's alternate stack and mask back as they were; the
/// kernel does so only when that one returns.
///
/// It may leave by siglongjmp instead.
private func goBack(_ context: SignalContext?, mask: UInt64) {
  context?.restoreSignalStack()
  SignalMask.set(mask)
}

/// Lets signals through to a thread in our handler.
///
/// The kernel adds a handler's mask to the thread's own, and libdispatch's workers block every
/// real-time signal. Returning from the handler restores the thread's mask.
@_noLocks
func unblock(_ signals: UInt64) {
  var attempts = 0
  while attempts < 3 && !SignalMask.unblock(signals) { attempts &+= 1 }
}

private func setMask(_ signals: UInt64) {
  var attempts = 0
  while attempts < 3 && !SignalMask.set(signals) { attempts &+= 1 }
}
