internal import CSignalSafe

/// The maximum time for which a crashed thread waits while another thread captures.
///
/// The bound is a time of `Installed.patience` during which the capturing thread gets no watchdog tick.
///
/// As long as ticks arrive, the watchdog bounds the capture. If the process gets little processor time, that bound
/// can be ten times `CaptureLimits.time` and more by the clock (`WatchdogTime`).
///
/// There is no bound while Swift's backtracer runs, because the backtracer has no bound without this handler either.
/// After the end of the process has begun, a waiting thread never continues, because it would end the process by
/// another signal. If the timer's signal does not arrive and the process still exists after the bound, the
/// waiting thread ends the process by the signal in the dump.
///
/// RUNS-DURING-CRASH.
@safe
struct WaitingBound {
  /// The duration of one wait in milliseconds.
  ///
  /// A wait may end early. If a seccomp filter forbids the system call, the wait ends at once.
  static var milliseconds: Int { @_noLocks get { 100 } }

  private let capture: Capture
  private(set) var isBegun = false
  private var ending: UInt32 = 0
  private var ticksLeft: UInt32 = 0
  private var count = 0
  private var start: UInt64 = 0

  @_noLocks
  init(_ capture: Capture) {
    self.capture = capture
  }

  /// True if the thread has waited for the whole bound, and the end of the process has not begun.
  var isOver: Bool {
    @_noLocks get { isBegun && ending == 0 && isLate }
  }

  @_noLocks
  mutating func begin() {
    isBegun = true
    ending = capture.shared.ending.value
    ticksLeft = capture.shared.ticksLeft.value
    count = 0
    start = capture.clock
  }

  /// Counts one wait; starts again from zero if `shared.ending` or `shared.ticksLeft` has changed.
  @_noLocks
  mutating func add() {
    count &+= 1
    let isChanged = capture.shared.ticksLeft.value != ticksLeft
    if isChanged || capture.shared.ending.value != ending { return begin() }
    if ending == Shared.Ending.now, isLate { capture.forceEnd() }
  }

  /// True if both the number of waits and the clock have reached the bound.
  ///
  /// Neither is enough alone. The clock continues while the process is stopped, and waits that a seccomp filter
  /// forbids take no time.
  var isLate: Bool {
    @inline(never) @_noLocks get {
      let patience = capture.installed.patience
      guard count >= patience / WaitingBound.milliseconds else { return false }
      return start == 0
        || pm_monotonic_clock() &- start > UInt64(truncatingIfNeeded: patience) &* 1_000_000
    }
  }
}
