internal import CSignalSafe

/// Ends the process after a dump, or passes a signal on without one: restores the previous action, and makes the
/// signal occur again.
///
/// RUNS-DURING-CRASH. Source: Crashpad `util/posix/signals.cc`.
extension Capture {
  /// True from the start of `endProcess` on; false while Swift's backtracer runs.
  var isEnding: Bool { @_noLocks get { shared.ending.value == Shared.Ending.now } }

  /// Ends the process by the crash of the calling thread, which stays the capturing one.
  ///
  /// Nobody who waits is woken: a thread that went on with a crash of its own would race this one,
  /// and the process would end by the signal of either.
  @_noLocks
  func endProcess(by call: HandlerCall) {
    shared.ending.store(Shared.Ending.now)
    // Before `prepareLateEnd`, which changes the mask in the context.
    let isForced = forcesDefaultAction(call.signal)
    if call.isKernels { prepareLateEnd(call.signal.context) }
    passOn(call.signal, isForced: isForced)
  }

  /// Restores the previous action of the signal and makes it happen again, with its own siginfo,
  /// when this handler returns, or the one that called it does.
  ///
  /// The other signals stay ours: a thread that crashes by one of them before the process has ended
  /// waits, and does not end it by that.
  @_noLocks
  func passOn(_ signal: DeliveredSignal) {
    passOn(signal, isForced: forcesDefaultAction(signal))
  }

  /// - Parameter isForced: true where the default action follows, whatever the previous one is.
  private func passOn(_ signal: DeliveredSignal, isForced: Bool) {
    let number = signal.number
    // Checked while our handlers are installed: where process_vm_readv is denied, `isMended` loads from the
    // address, and that can fault.
    let faultsAgain = signal.recurrence.isCertain && !isMended(signal)
    if isForced {
      SignalAction.set(number, pm_signal_action())
    } else {
      restoreAction(of: number)
    }
    // Returning executes the faulting instruction again; the kernel then sees the fault itself, as
    // without us.
    if faultsAgain {
      // The fault came again three times: a filter forbids rt_sigaction. A fault whose signal is blocked
      // gets the default action from the kernel. Source: Linux kernel/signal.c, force_sig_info_to_task.
      if shared.timesReturned > 2 { signal.context?.block(number) }
      return
    }
    if shared.timesReturned > 8 { _ = pm_exit_group(128 &+ number) }
    if mustEndFirstProcess(by: signal) {
      if rewindToSignal(signal) { return }
      _ = pm_exit_group(128 &+ number)
    }
    // Blocked first, so that it is delivered at the return from this handler, with the registers of
    // the crash.
    SignalMask.block(SignalMask.bit(number))
    let answer = pm_getpid()
    let process = answer < 0 ? shared.process.id : answer
    let thread = pm_gettid()
    if let information = signal.information,
      information.queue(number, for: thread, of: process)
    {
      return
    }
    // A kernel or a seccomp profile without rt_tgsigqueueinfo: the siginfo is lost, the signal is
    // not.
    if pm_tgkill(process, thread, number) == 0 { return }
    if pm_kill(process, number) == 0 { return }
    _ = pm_exit_group(128 &+ number)
  }

  /// Puts the action back that a signal had before ours.
  @_noLocks
  func restoreAction(of number: Int32) {
    var attempts = 0
    while attempts < 3 {
      if shared.previousActions.restore(number) { return }
      attempts &+= 1
    }
  }

  /// True where the memory that was not there is there now: another thread has mapped it meanwhile,
  /// or a first-chance handler, and running the instruction again would continue.
  private func isMended(_ signal: DeliveredSignal) -> Bool {
    // Only at the end of the crash that was captured.
    guard
      signal.number == SIGSEGV && signal.code == SEGV_MAPERR
        || signal.number == SIGBUS && signal.code == BUS_ADRERR,
      let information = signal.information,
      shared.ending.value != 0,
      shared.capturingThread.value == UInt32(bitPattern: pm_gettid())
    else { return false }
    return memory.isReadable(information.faultAddress)
  }
}
