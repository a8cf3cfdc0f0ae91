internal import CSignalSafe

/// Calls the program's callback (`setFirstChanceHandler`), which may handle a signal before the signal counts as a
/// crash.
///
/// RUNS-DURING-CRASH, on any thread.
extension Capture {
  /// Calls the callback; returns true if the callback has handled the signal.
  ///
  /// The callback is not called for a signal that interrupts code on an alternate stack, where only signal handlers
  /// run. The signal may be a fault in the callback itself. If the callback were called for its own faults, this would
  /// repeat until the stack is full.
  @_noLocks
  func offerFirstChance(to call: HandlerCall) -> Bool {
    let signal = call.signal
    guard let context = signal.context, !context.isOnSignalStack, pm_has_first_chance_handler()
    else { return false }
    // The callback can take a long time, so faults, the stop signals and the watchdog's signal are not blocked while
    // it runs.
    SignalMask.set(context.signalMask | ~installed.signals.open)
    let isTaken = unsafe pm_call_first_chance_handler(
      signal.number, signal.information?.address, context.address)
    // If the kernel called the crash handler, the kernel restores the thread's mask when the crash handler returns. If
    // a handler that was installed later called the crash handler, that handler's mask is restored here.
    if isTaken, !call.isFromKernel { SignalMask.set(call.mask) }
    return isTaken
  }
}
