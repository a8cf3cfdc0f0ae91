internal import CSignalSafe

/// Ends a process that continues even though `endProcess` has run.
///
/// The process continues if the faulting instruction succeeds when it runs again, because another thread has changed a
/// mapping.
///
/// The threads that were stopped for the dump are still stopped at that time. Without this code, the process would
/// hang, or continue with only one thread, as in a test in which 64 threads mapped, unmapped and read pages at the same
/// time.
///
/// RUNS-DURING-CRASH.
extension Capture {
  /// Starts the watchdog's timer for a single signal, and unblocks that signal in the context.
  ///
  /// The signal can then arrive even after the handler has returned.
  ///
  /// This function is called only if the kernel called this handler, because the process should then end as soon as
  /// this handler returns. If another handler called this one, that other handler may still run for any length of time.
  ///
  /// Writing a core file may take longer than the time after which the timer ends the process. The timer does no harm
  /// then, because the kernel delivers only SIGKILL to a process that dumps core. Source: Linux kernel/signal.c,
  /// prepare_signal.
  @_noLocks
  func prepareLateEnd(_ context: SignalContext?) {
    context?.signalMask &= ~SignalMask.bit(installed.signals.watchdog)
    // One second is long enough for the faulting instruction to run again, even on a loaded machine.
    armTimerOnce(milliseconds: 1000)
  }
}
