internal import CSignalSafe

/// A signal that somebody sent to a thread that has asked to block it, and that is open there for
/// crashes alone (`HandlerOptions.keepsCrashSignalsOpen`).
///
/// From here on it is blocked as asked. The kernel then goes on to a thread that takes it, or keeps
/// it for `sigwait`, a signalfd or `sigpending`, as without us.
///
/// RUNS-DURING-CRASH, on any thread. Source: rt_sigqueueinfo(2).
extension Capture {
  /// Gives the signal back to the kernel; false for one that the thread must take.
  @_noLocks
  func returnToKernel(_ signal: DeliveredSignal) -> Bool {
    let number = signal.number
    guard signal.isAsynchronous, let information = signal.information, let context = signal.context,
      isAskedToBeBlocked(number, context), !mayBeAborting(signal)
    else { return false }
    context.block(number)
    // Our handlers leave faults open, and it would recur at once.
    SignalMask.block(SignalMask.bit(number))
    let process = shared.process.id
    if information.code == SI_TKILL {
      return information.queue(number, for: pm_gettid(), of: process)
        || pm_tgkill(process, pm_gettid(), number) == 0
    }
    return unsafe pm_sigqueueinfo(process, number, information.address) == 0
      || pm_kill(process, number) == 0
  }

  /// True for a crash at which the kernel would have run no handler: the default action follows it.
  ///
  /// A fault whose signal the thread has asked to block; abort(), where that does not open its signal.
  @_noLocks
  func forcesDefaultAction(_ signal: DeliveredSignal) -> Bool {
    guard let context = signal.context, isAskedToBeBlocked(signal.number, context) else {
      return false
    }
    return signal.number == SIGABRT
      ? !installed.runtime.abortOpensItsSignal : !signal.isAsynchronous
  }

  /// False where the kernel blocks it too: then a mask that lasts for one call, of `ppoll` or
  /// `sigsuspend`, has let it in.
  private func isAskedToBeBlocked(_ number: Int32, _ context: SignalContext) -> Bool {
    var mask = pm_thread_mask()
    guard SignalMask.has(pm_kept_open(), number), !SignalMask.has(context.signalMask, number),
      unsafe pm_read_thread_mask(&mask)
    else { return false }
    return SignalMask.has(pm_asked_mask(mask, context.signalMask), number)
  }
}
