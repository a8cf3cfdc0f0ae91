internal import CSignalSafe

/// The maximum time for which a thread waits while another thread captures.
///
/// The wait is over when the capturing thread has got no watchdog tick for as long as `Installed.longestWaitMilliseconds`.
///
/// As long as ticks arrive, the watchdog limits the capture. If the process gets little CPU time, that limit can be
/// ten times `CaptureLimits.time` or more in clock time (`WatchdogTime`).
///
/// While Swift's backtracer runs, a thread that has crashed waits without a limit, because the backtracer has no limit
/// without this handler either. Once the process has begun to end, a waiting thread never continues. If it did, the
/// process could end by that thread's signal instead of the signal that the dump names. If the process still exists
/// after the maximum time, the waiting thread ends it with the signal that the dump names.
///
/// RUNS-DURING-CRASH.
@safe
struct WaitingBound {
  /// The duration of one wait in milliseconds.
  ///
  /// A wait may end early. If a seccomp filter forbids the system call that waits, the wait ends immediately.
  static var milliseconds: Int { @_noLocks get { 100 } }

  private let capture: Capture
  private(set) var isBegun = false
  /// The values of `shared.ending` and `shared.ticksLeft` when `count` was set to 0.
  private var lastEnding: UInt32 = 0
  private var lastTicksLeft: UInt32 = 0
  private var count = 0
  private var start: UInt64 = 0

  @_noLocks
  init(_ capture: Capture) {
    self.capture = capture
  }

  /// True if the thread has waited for the maximum time, Swift's backtracer does not run, and the process has not begun
  /// to end.
  var isOver: Bool {
    @_noLocks get { isBegun && lastEnding == 0 && isLate }
  }

  @_noLocks
  mutating func begin() {
    isBegun = true
    lastEnding = capture.shared.ending.value
    lastTicksLeft = capture.shared.ticksLeft.value
    count = 0
    start = capture.clock
  }

  /// Counts the waits since the last call; starts again from zero if `shared.ending` or `shared.ticksLeft` has changed.
  ///
  /// Otherwise, this function replaces the capturing thread if that thread no longer exists. If the process has begun to
  /// end, and still exists after the maximum time, this function ends it.
  @_noLocks
  mutating func add(_ waits: Int = 1) {
    guard isBegun else { return begin() }
    count &+= waits
    let isChanged = capture.shared.ticksLeft.value != lastTicksLeft
    if isChanged || capture.shared.ending.value != lastEnding { return begin() }
    capture.replaceLostThread()
    if lastEnding == Shared.Ending.now, isLate { capture.forceEnd() }
  }

  /// True if both the number of waits and the clock have reached the maximum; without a clock, the number decides.
  ///
  /// Neither is enough alone: the clock continues while the process is stopped, and waits that a seccomp filter
  /// forbids take no time.
  var isLate: Bool {
    @inline(never) @_noLocks get {
      let limit = capture.installed.longestWaitMilliseconds
      guard count >= limit / WaitingBound.milliseconds else { return false }
      return start == 0
        || pm_monotonic_clock() &- start > UInt64(truncatingIfNeeded: limit) &* 1_000_000
    }
  }
}
