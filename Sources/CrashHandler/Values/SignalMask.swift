internal import CSignalSafe

/// The calling thread's signal mask and its pending signals; bit n - 1 stands for signal n.
///
/// RUNS-DURING-CRASH. Source: sigprocmask(2), sigpending(2), rt_sigtimedwait(2).
enum SignalMask {
  /// Returns the bit of a signal; no bit for 0.
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

  /// Replaces the mask.
  @_noLocks @discardableResult
  static func set(_ mask: UInt64) -> Bool {
    var mask = mask
    return unsafe pm_sigprocmask(SIG_SETMASK, &mask, nil) == 0
  }

  /// Adds signals to the mask; returns the previous mask, or nil if the kernel refuses.
  @_noLocks @discardableResult
  static func block(_ signals: UInt64) -> UInt64? {
    var (mask, previous) = (signals, UInt64(0))
    return unsafe pm_sigprocmask(SIG_BLOCK, &mask, &previous) == 0 ? previous : nil
  }

  /// Removes signals from the mask.
  @_noLocks @discardableResult
  static func unblock(_ signals: UInt64) -> Bool {
    var mask = signals
    return unsafe pm_sigprocmask(SIG_UNBLOCK, &mask, nil) == 0
  }

  /// Unblocks signals on a thread that runs the handler; tries up to three times if the kernel refuses.
  ///
  /// This is necessary because the kernel adds the handler's mask to the thread's mask when it calls the handler, and
  /// libdispatch's workers block every real-time signal. When the handler returns, the kernel restores the thread's
  /// mask.
  @_noLocks
  static func open(_ signals: UInt64) {
    var attempts = 0
    while attempts < 3 && !unblock(signals) { attempts &+= 1 }
  }

  /// Replaces the mask; tries up to three times if the kernel refuses.
  @_noLocks
  static func replace(_ mask: UInt64) {
    var attempts = 0
    while attempts < 3 && !set(mask) { attempts &+= 1 }
  }

  /// The pending signals; nil if the kernel refuses the call.
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
