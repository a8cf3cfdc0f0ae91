internal import CSignalSafe

/// One call of the crash handler.
///
/// RUNS-DURING-CRASH.
struct HandlerCall {
  let signal: DeliveredSignal
  /// False if a handler that was installed after ours has called it, and continues when it returns.
  let isKernels: Bool
  /// The thread's mask in that case.
  let mask: UInt64
  /// The monotonic clock in nanoseconds; 0 where clocks are forgone.
  let entryTime: UInt64

  @_noLocks
  init(_ signal: DeliveredSignal, _ entryStackPointer: UInt64, entryTime: UInt64) {
    self.signal = signal
    self.entryTime = entryTime
    isKernels = signal.context?.isOfKernelsCall(entryStackPointer) ?? false
    mask = isKernels ? 0 : SignalMask.current
  }
}
