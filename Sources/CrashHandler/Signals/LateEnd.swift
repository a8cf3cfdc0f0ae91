internal import CSignalSafe

/// Ends a process that lives on after its end: the faulting instruction ran again and its fault did
/// not come again, because another thread has changed a mapping meanwhile.
///
/// All other threads are stopped then; without this the process would stand for ever, or continue with
/// one thread where the kernel would have ended it. Seen with 64 threads that map, unmap and read
/// pages at once.
///
/// RUNS-DURING-CRASH.
extension Capture {
  /// Starts the watchdog's timer once more; the thread takes its signal after the handler has returned too.
  ///
  /// Only where the kernel has called the handler, so that its return is the end. Another handler
  /// that called ours continues for as long as it likes.
  ///
  /// A core file that takes longer is written all the same: the kernel keeps every signal but KILL
  /// from a process that dumps core. Source: Linux kernel/signal.c, prepare_signal.
  @_noLocks
  func prepareLateEnd(_ context: SignalContext?) {
    if installed.signals.watchdog != 0 {
      context?.unblock(installed.signals.watchdog)
    }
    // Long enough for a loaded machine to run one instruction.
    armTimerOnce(milliseconds: 1000)
  }

  /// Ends the process by the signal of its crash.
  @_noLocks
  func endLate() {
    let signal = session.exception.signal.number
    SignalAction.set(signal, pm_signal_action())
    SignalMask.unblock(SignalMask.bit(signal))
    if mayMake(CallBit.threads) {
      _ = pm_tgkill(shared.process.id, pm_gettid(), signal)
    } else {
      _ = pm_kill(shared.process.id, signal)
    }
    // The first process of a PID namespace: the kernel discards the default action.
    _ = pm_exit_group(128 &+ signal)
  }
}
