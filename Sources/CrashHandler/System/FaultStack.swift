internal import CSignalSafe

/// The stack for faults inside the handler.
///
/// RUNS-DURING-CRASH, on a thread that takes a dump.
extension Capture {
  /// Keeps the signals of faults and the watchdog's out, until `setFaultStack` lets them through.
  ///
  /// Between leaving the alternate stack and that call the kernel would start at its top again, over
  /// the frame of the signal that is handled: the dump had the registers of our own code, and
  /// returning went there.
  ///
  /// Not SIGSYS, whose handler stays on the stack that it finds: a filter may trap that call.
  @_noLocks
  func blockFaults() {
    SignalMask.block(installed.signals.capture & ~SignalMask.bit(SIGSYS))
  }

  /// Gives faults from here on a stack of their own, and lets them and the watchdog's signal through.
  ///
  /// If the kernel refuses it, nothing that could raise a signal on this thread is done.
  @_noLocks
  func setFaultStack() {
    var attempts = 0
    while attempts < 3 && mayMake(CallBit.threads) {
      if installed.faultStack.use() {
        session.hasFaultStack = true
        break
      }
      attempts &+= 1
    }
    SignalMask.open(installed.signals.capture)
  }
}
