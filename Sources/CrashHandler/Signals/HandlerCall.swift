internal import CSignalSafe

/// One call of the crash handler.
///
/// RUNS-DURING-CRASH.
struct HandlerCall {
  let signal: DeliveredSignal
  /// True if the kernel called this handler; false if a handler that was installed after this one called it, and
  /// continues when this one returns.
  let isFromKernel: Bool
  /// The thread's signal mask if another handler called this one; otherwise 0.
  let mask: UInt64
  /// The monotonic clock in nanoseconds; 0 if `HandlerOptions.forgoing` leaves it out or a seccomp filter forbids it.
  let entryTime: UInt64

  @_noLocks
  init(_ signal: DeliveredSignal, _ entryStackPointer: UInt64, entryTime: UInt64) {
    self.signal = signal
    self.entryTime = entryTime
    isFromKernel = signal.context?.isFromKernel(entryStackPointer) ?? false
    mask = isFromKernel ? 0 : SignalMask.current
  }
}
