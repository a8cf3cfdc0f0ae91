internal import CSignalSafe

/// The alternate stack on which faults inside the handler are handled.
///
/// RUNS-DURING-CRASH, on a thread that takes a dump.
extension Capture {
  /// Blocks the signals of faults and of the watchdog, until `setFaultStack` unblocks them.
  ///
  /// The handler runs on its own stack, so the kernel considers the thread's alternate stack unused. Until
  /// `setFaultStack`, the kernel would put another signal's frame at the top of that stack, over the crash's frame. The
  /// dump would then show the handler's registers instead of the crash's, and the handler would return into itself.
  ///
  /// SIGSYS stays unblocked, because a seccomp filter may trap the system call that unblocks signals: if SIGSYS were
  /// blocked then, the kernel would end the process. The SIGSYS handler runs on the current stack, so its signal frame
  /// does not overwrite the crash's.
  @_noLocks
  func blockFaultsAndWatchdog() {
    SignalMask.block(installed.signals.faultsAndWatchdog)
  }

  /// Gives later faults a separate stack, and unblocks the signals of faults and the watchdog's signal.
  ///
  /// If the kernel refuses the stack, or `HandlerOptions.forgoing` contains `threads`, the handler arms no timer, does
  /// not copy memory with plain load instructions, and writes no summary, because each of these could raise a signal on
  /// this thread.
  @_noLocks
  func setFaultStack() {
    if mayMake(CallBit.threads) { session.hasFaultStack = installed.faultStack.use() }
    SignalMask.unblock(installed.signals.faults | tick)
  }
}
