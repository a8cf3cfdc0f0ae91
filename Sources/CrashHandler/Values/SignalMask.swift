internal import CSignalSafe

/// The calling thread's signal mask and its pending signals; bit n - 1 stands for signal n.
///
/// RUNS-DURING-CRASH. Source: sigprocmask(2), sigpending(2), rt_sigtimedwait(2).
enum SignalMask {
  /// Returns a mask with only the bit of a signal; returns 0 for signal 0.
  @_noLocks
  static func bit(_ signal: Int32) -> UInt64 {
    signal == 0 ? 0 : 1 &<< UInt64(truncatingIfNeeded: signal &- 1)
  }

  @_noLocks
  static func has(_ mask: UInt64, _ signal: Int32) -> Bool { mask & bit(signal) != 0 }

  static var current: UInt64 {
    @_noLocks get {
      var mask: UInt64 = 0
      _ = unsafe pm_sigprocmask(SIG_BLOCK, nil, &mask)
      return mask
    }
  }

  /// Replaces the calling thread's signal mask; false if the kernel refuses.
  @_noLocks @discardableResult
  static func set(_ mask: UInt64) -> Bool { change(SIG_SETMASK, mask) }

  /// Adds signals to the mask; returns the previous mask, or nil if the kernel refuses.
  @_noLocks @discardableResult
  static func block(_ signals: UInt64) -> UInt64? {
    var (mask, previous) = (signals, UInt64(0))
    return unsafe pm_sigprocmask(SIG_BLOCK, &mask, &previous) == 0 ? previous : nil
  }

  /// Removes signals from the calling thread's mask; false if the kernel refuses.
  ///
  /// When the kernel calls the handler, it adds the handler's mask to the thread's mask. In addition, libdispatch's
  /// workers block every real-time signal. So a thread that runs the handler unblocks the signals that must reach it.
  /// When the handler returns, the kernel restores the thread's mask.
  @_noLocks @discardableResult
  static func unblock(_ signals: UInt64) -> Bool { change(SIG_UNBLOCK, signals) }

  /// Changes the mask; tries up to three times if the kernel refuses.
  private static func change(_ how: Int32, _ signals: UInt64) -> Bool {
    var mask = signals
    for _ in Indices(3) {
      if unsafe pm_sigprocmask(how, &mask, nil) == 0 { return true }
    }
    return false
  }

  /// The signals that are pending for the calling thread or the process; nil if the kernel refuses the call.
  static var pending: UInt64? {
    @_noLocks get {
      var signals: UInt64 = 0
      return unsafe pm_sigpending(&signals) == 0 ? signals : nil
    }
  }

  /// Removes one pending signal that is among the given signals.
  @_noLocks
  static func take(_ signals: UInt64) {
    var signals = signals
    _ = unsafe pm_wait_signal(&signals, nil, 0)
  }
}
