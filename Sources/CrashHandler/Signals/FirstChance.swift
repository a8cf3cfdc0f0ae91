internal import CSignalSafe

/// The program's callback, which may take the signal before it counts as a crash
/// (`setFirstChanceHandler`).
///
/// RUNS-DURING-CRASH, on any thread.
extension Capture {
  /// Asks it; true if it has taken the signal.
  ///
  /// Not for a fault on an alternate stack: that is one of a signal handler, this one among them, which
  /// would be called for its own faults until the stack ends.
  @_noLocks
  func offerFirstChance(to signal: DeliveredSignal) -> Bool {
    if let context = signal.context, !context.isOnSignalStack, pm_has_first_chance_handler() {
      // The callback can take long, so the stop signals are not blocked while it runs.
      SignalMask.replace(context.signalMask | ~installed.signals.open)
      let isTaken = unsafe pm_call_first_chance_handler(
        signal.number, signal.information?.address, context.address)
      if isTaken { return true }
      SignalMask.replace(~installed.signals.faults)
    }
    SignalMask.open(installed.signals.faults)
    return false
  }
}
