internal import CSignalSafe

/// One call of the crash handler.
///
/// RUNS-DURING-CRASH.
struct HandlerCall {
  let signal: DeliveredSignal
  let threadID = pm_gettid()
  /// True if the kernel called this handler; false if another handler called it.
  ///
  /// That other handler was installed later, and continues when this handler returns.
  let isFromKernel: Bool
  /// The thread's signal mask if another handler called this handler; otherwise 0.
  let mask: UInt64
  /// The time at which the handler was called, from the monotonic clock, in nanoseconds.
  ///
  /// The time is 0 if `HandlerOptions.forgoing` contains `proc`, or if a seccomp filter refuses to let the handler read
  /// the clock.
  let entryTime: UInt64

  @_noLocks
  init(_ signal: DeliveredSignal, _ entryStackPointer: UInt64, entryTime: UInt64) {
    self.signal = signal
    self.entryTime = entryTime
    isFromKernel = signal.context?.isFromKernel(entryStackPointer) ?? false
    mask = isFromKernel ? 0 : SignalMask.current
  }
}
