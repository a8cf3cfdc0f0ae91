internal import CSignalSafe

/// Handles a signal that was sent to a thread although the thread had asked to block that signal.
///
/// `HandlerOptions.keepsCrashSignalsOpen` keeps crash signals unblocked even in such threads, so that their crashes
/// are captured.
///
/// This code blocks the signal in the kernel, as the thread had asked, and sends it again. The kernel then does what it
/// would do without this handler: it delivers the signal to a thread that does not block it, or keeps it for `sigwait`,
/// a signalfd or `sigpending`.
///
/// RUNS-DURING-CRASH, on any thread. Source: rt_sigqueueinfo(2).
extension Capture {
  /// Blocks the signal and sends it again; returns true if the signal was sent.
  ///
  /// A fault, a signal that the thread did not ask to block, and a SIGABRT that abort() may have raised are not sent
  /// again.
  @_noLocks
  func requeueIfBlocked(_ signal: DeliveredSignal) -> Bool {
    let number = signal.number
    guard signal.isAsynchronous, let information = signal.information, let context = signal.context,
      isAskedToBeBlocked(number, context), !mayBeAborting(signal)
    else { return false }
    context.signalMask |= SignalMask.bit(number)
    // The signal must also be blocked in the handler itself, whose mask leaves faults unblocked. Otherwise, it would
    // arrive again immediately.
    SignalMask.block(SignalMask.bit(number))
    let process = shared.process.id
    if information.code == SI_TKILL {
      return information.queue(number, for: pm_gettid(), of: process)
        || pm_tgkill(process, pm_gettid(), number) == 0
    }
    return unsafe pm_sigqueueinfo(process, number, information.address) == 0
      || pm_kill(process, number) == 0
  }

  /// True if, without this package, the kernel would have taken the default action without running any handler.
  ///
  /// There are two cases. In the first, a fault occurred whose signal the thread had asked to block. In the second, a
  /// thread that had asked to block SIGABRT called abort(), and libc's abort() does not unblock SIGABRT before sending
  /// it.
  @_noLocks
  func forcesDefaultAction(_ signal: DeliveredSignal) -> Bool {
    guard let context = signal.context, isAskedToBeBlocked(signal.number, context) else {
      return false
    }
    return signal.number == SIGABRT
      ? !installed.runtime.abortOpensItsSignal : !signal.isAsynchronous
  }

  /// True if the thread asked to block the signal and this package keeps it unblocked.
  ///
  /// The result is false if the mask in the context also blocks the signal, because in that case `ppoll` or
  /// `sigsuspend` had unblocked the signal for one call.
  private func isAskedToBeBlocked(_ number: Int32, _ context: SignalContext) -> Bool {
    var mask = pm_thread_mask()
    guard SignalMask.has(pm_kept_open(), number), !SignalMask.has(context.signalMask, number),
      unsafe pm_read_thread_mask(&mask)
    else { return false }
    return SignalMask.has(pm_asked_mask(mask, context.signalMask), number)
  }
}
