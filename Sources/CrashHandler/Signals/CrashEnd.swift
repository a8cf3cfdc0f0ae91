internal import CSignalSafe

/// Restores the previous action of a signal and makes the signal occur again.
///
/// In most cases, the previous action is the default action, which ends the process. This code runs after the dump of
/// a crash that ends the process, for a crash that another handler passed on, and for a signal for which the handler
/// takes no dump.
///
/// RUNS-DURING-CRASH. Source: Crashpad `util/posix/signals.cc`.
extension Capture {
  /// True after `endProcess` has begun; false while Swift's backtracer runs.
  var isEnding: Bool { @_noLocks get { shared.ending.value == Shared.Ending.now } }

  /// Lets the calling thread's crash end the process; the thread remains the capturing thread.
  ///
  /// Waiting threads are not woken, because if one continued with its own crash, that crash's signal could end the
  /// process instead.
  ///
  /// The process continues if the faulting instruction succeeds when it runs again, because another thread has changed a
  /// mapping. The threads that were stopped for the dump are still stopped at that time. So the watchdog's timer then
  /// ends the process. Without this timer, the process would hang, or continue with only one thread, as in a test in
  /// which 64 threads mapped, unmapped and read pages at the same time.
  ///
  /// Writing a core file may take longer than the time after which the timer ends the process. The timer does no harm
  /// then, because the kernel delivers only SIGKILL to a process that dumps core. Source: Linux kernel/signal.c,
  /// prepare_signal.
  @_noLocks
  func endProcess(by call: HandlerCall) {
    // The process should end as soon as this handler returns, if the kernel called this handler. If another handler
    // called it, that other handler may still run for any length of time. One second is long enough for the faulting
    // instruction to run again, even on a loaded machine.
    if call.isFromKernel { armTimer(milliseconds: 1000) } else { disarmTimer() }
    shared.ending.store(Shared.Ending.now)
    restoreAndReraise(call.signal, isEnd: true)
    // Ticks can then arrive even after this handler has returned.
    if call.isFromKernel { call.signal.context?.signalMask &= ~tick }
  }

  /// Restores the previous action of the signal, and makes the signal occur again, if possible with the original
  /// siginfo.
  ///
  /// If `forcesDefaultAction` is true, the signal gets the default action instead of its previous one.
  ///
  /// The signal occurs when this handler returns, or when the handler that called this handler returns.
  ///
  /// The other signals keep this package's handler. So if another thread crashes before the process has ended, that
  /// thread waits, and its signal does not end the process.
  ///
  /// - Parameter isEnd: true on the capturing thread, if the process must end.
  @_noLocks
  func restoreAndReraise(_ signal: DeliveredSignal, isEnd: Bool = false) {
    let number = signal.number
    // The fault address is checked while this package's handlers are still installed. If process_vm_readv is denied,
    // `isFaultAddressReadable` loads from the address, and that load can fault; the handlers recover from this fault.
    let faultsAgain =
      signal.recurrence.isCertain && !(isEnd && isFaultAddressReadable(signal))
      && !hasLeftSequence(signal)
    if forcesDefaultAction(signal) {
      SignalAction.set(number, pm_signal_action())
    } else {
      restoreAction(of: number)
    }
    // After this handler returns, the faulting instruction runs again, and the kernel takes the restored action for
    // the new fault.
    if faultsAgain {
      // If the fault has called this handler three more times, the action was not restored, and a seccomp filter seems
      // to forbid rt_sigaction. So this function blocks the signal, because the kernel takes the default action for a
      // fault whose signal is blocked. Source: Linux kernel/signal.c, force_sig_info_to_task.
      if shared.timesReraised > 2 { signal.context?.signalMask |= SignalMask.bit(number) }
      return
    }
    // If the signal was queued more than eight times without ending the process, the process exits here.
    if shared.timesReraised > 8 { _ = pm_exit_group(128 &+ number) }
    if mustEndFirstProcess(by: signal) {
      if rewindToSignal(signal) { return }
      _ = pm_exit_group(128 &+ number)
    }
    // The signal is blocked first, so that the kernel delivers it only when this handler returns, with the crash's
    // registers.
    SignalMask.block(SignalMask.bit(number))
    // The thread's own mask may block the signal too, if ppoll or sigsuspend had unblocked it for one call.
    signal.context?.signalMask &= ~SignalMask.bit(number)
    let answer = pm_getpid()
    let process = answer < 0 ? shared.process.id : answer
    let thread = pm_gettid()
    if let information = signal.information,
      information.queue(number, for: thread, of: process)
    {
      return
    }
    // If the kernel or a seccomp filter does not allow rt_tgsigqueueinfo, tgkill still sends the signal, without the
    // original siginfo.
    if pm_tgkill(process, thread, number) == 0 { return }
    if pm_kill(process, number) == 0 { return }
    _ = pm_exit_group(128 &+ number)
  }

  /// Ends the process with the signal of its crash.
  @_noLocks
  func forceEnd() {
    let signal = session.exception.signal.number
    SignalAction.set(signal, pm_signal_action())
    SignalMask.unblock(SignalMask.bit(signal))
    let process = shared.process.id
    let isSent = mayMake(CallBit.threads) && pm_tgkill(process, pm_gettid(), signal) == 0
    if !isSent { _ = pm_kill(process, signal) }
    // This line is reached in the first process of a PID namespace, where the kernel discards the signal, and in a
    // process whose seccomp filter refuses one of the calls above.
    _ = pm_exit_group(128 &+ signal)
  }

  /// Restores the action that a signal had before this package's handler was installed.
  @_noLocks
  func restoreAction(of number: Int32) {
    for _ in Indices(3) {
      if shared.previousActions.restore(number) { return }
    }
  }

  /// True if the faulting access was to unmapped memory or beyond the end of a mapped file, but the memory can be read
  /// now.
  ///
  /// Another thread or the first-chance handler may have mapped the memory, or enlarged the file, meanwhile.
  ///
  /// In that case, the faulting instruction may succeed when it runs again, and the process would then continue.
  private func isFaultAddressReadable(_ signal: DeliveredSignal) -> Bool {
    guard
      signal.number == SIGSEGV && signal.code == SEGV_MAPERR
        || signal.number == SIGBUS && signal.code == BUS_ADRERR,
      let information = signal.information
    else { return false }
    return memory.isReadable(information.faultAddress)
  }
}
