internal import CSignalSafe

/// Ends a process that continues although `endProcess` has run: the faulting instruction ran again without a fault,
/// because another thread has changed a mapping in the meantime.
///
/// All other threads are stopped then. Without this the process would hang, or continue with one thread where the
/// kernel would have ended it. A test with 64 threads that map, unmap and read pages at once showed this.
///
/// RUNS-DURING-CRASH.
extension Capture {
  /// Starts the watchdog's timer once more, and unblocks its signal in the context, so that it also arrives after the
  /// handler has returned.
  ///
  /// Called only if the kernel called this handler, so that its return is the end. A handler that called this one may
  /// run for any time.
  ///
  /// Writing a core file may take longer than the timer: the kernel delivers only SIGKILL to a process that dumps
  /// core. Source: Linux kernel/signal.c, prepare_signal.
  @_noLocks
  func prepareLateEnd(_ context: SignalContext?) {
    if installed.signals.watchdog != 0 {
      context?.unblock(installed.signals.watchdog)
    }
    // A second is long enough for a loaded machine to run one instruction.
    armTimerOnce(milliseconds: 1000)
  }

  /// Ends the process by the signal of its crash.
  @_noLocks
  func forceEnd() {
    let signal = session.exception.signal.number
    SignalAction.set(signal, pm_signal_action())
    SignalMask.unblock(SignalMask.bit(signal))
    if mayMake(CallBit.threads) {
      _ = pm_tgkill(shared.process.id, pm_gettid(), signal)
    } else {
      _ = pm_kill(shared.process.id, signal)
    }
    // Reached only in the first process of a PID namespace, where the kernel discards the signal.
    _ = pm_exit_group(128 &+ signal)
  }
}
