internal import CSignalSafe

/// Calls the program's callback (`setFirstChanceHandler`), which may take the signal before it counts as a crash.
///
/// RUNS-DURING-CRASH, on any thread.
extension Capture {
  /// Calls the callback; returns true if it took the signal.
  ///
  /// The callback is not called for a fault on an alternate stack, which is a fault of a signal handler. The callback
  /// may be that handler, and would be called for its own faults until the stack ends.
  @_noLocks
  func offerFirstChance(to signal: DeliveredSignal) -> Bool {
    if let context = signal.context, !context.isOnSignalStack, pm_has_first_chance_handler() {
      // The callback can take long, so the stop signals are not blocked while it runs.
      SignalMask.replace(context.signalMask | ~installed.signals.open)
      let isTaken = unsafe pm_call_first_chance_handler(
        signal.number, signal.information?.address, context.address)
      if isTaken { return true }
      // The callback did not take the signal: blocks all signals except faults again, for the capture.
      SignalMask.replace(~installed.signals.faults)
    }
    SignalMask.open(installed.signals.faults)
    return false
  }
}
