internal import CSignalSafe

/// Ends a process that continues although `endProcess` has run.
///
/// In such a process, the faulting instruction ran again without a fault, because another thread had changed a
/// mapping.
///
/// All other threads are stopped at that time. Without this code, the process would hang, or continue with one thread
/// although the kernel would have ended it. A test with 64 threads that map, unmap and read pages at the same time
/// showed this.
///
/// RUNS-DURING-CRASH.
extension Capture {
  /// Starts the watchdog's timer once more, and unblocks the timer's signal in the context.
  ///
  /// The signal then also arrives after the handler has returned.
  ///
  /// This is called only if the kernel called this handler, because then the process should end when this handler
  /// returns. If another handler called this handler, that handler may still run for any length of time.
  ///
  /// Writing a core file may take longer than the timer's time. That does no harm, because the kernel delivers only
  /// SIGKILL to a process that dumps core. Source: Linux kernel/signal.c, prepare_signal.
  @_noLocks
  func prepareLateEnd(_ context: SignalContext?) {
    context?.signalMask &= ~SignalMask.bit(installed.signals.watchdog)
    // One second is long enough for one instruction, even on a loaded machine.
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
    // This line is reached only in the first process of a PID namespace, where the kernel discards the signal.
    _ = pm_exit_group(128 &+ signal)
  }
}
