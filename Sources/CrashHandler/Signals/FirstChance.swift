internal import CSignalSafe

/// Calls the program's callback (`setFirstChanceHandler`), which may handle a signal before the signal counts as a
/// crash.
///
/// RUNS-DURING-CRASH, on any thread.
extension Capture {
  /// Calls the callback; returns true if the callback has handled the signal.
  ///
  /// The callback is not called for a signal that interrupts code on an alternate stack, where only signal handlers
  /// run. That signal may be a fault in the callback itself, which would then be called for its own faults until the
  /// stack is full.
  @_noLocks
  func offerFirstChance(to signal: DeliveredSignal) -> Bool {
    if let context = signal.context, !context.isOnSignalStack, pm_has_first_chance_handler() {
      // The callback can take a long time, so the stop signals are not blocked while it runs.
      SignalMask.set(context.signalMask | ~installed.signals.open)
      let isTaken = unsafe pm_call_first_chance_handler(
        signal.number, signal.information?.address, context.address)
      if isTaken { return true }
      // All signals except faults are blocked again for the capture.
      SignalMask.set(~installed.signals.faults)
    }
    SignalMask.unblock(installed.signals.faults)
    return false
  }
}
