internal import CSignalSafe

/// The time that a crashed thread waits while another thread captures: `Installed.patience` without a tick of the
/// capturing thread.
///
/// As long as ticks come, the capture has its own bound, which by the clock can be longer: ten times
/// `CaptureLimits.time` and more where the process gets little processor time (`WatchdogTime`).
///
/// There is no bound while Swift's backtracer runs, because it has none without this handler either. Once the process
/// ends, a waiting thread never continues, because it would end the process by another signal. If the process still
/// exists after that time, because there is no timer or its signal does not arrive, the waiting thread ends the
/// process by the signal of the dump.
///
/// RUNS-DURING-CRASH.
@safe
struct WaitingBound {
  /// The time of one wait in milliseconds.
  ///
  /// A wait may end early, and returns at once if a seccomp filter forbids it.
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

  /// True if the thread has waited for its complete time and the process has not ended.
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

  /// Counts a wait; starts again from zero when `shared.ending` or `shared.ticksLeft` changes.
  @_noLocks
  mutating func add() {
    count &+= 1
    let isChanged = capture.shared.ticksLeft.value != ticksLeft
    if isChanged || capture.shared.ending.value != ending { return begin() }
    if ending == Shared.Ending.now, isLate { capture.forceEnd() }
  }

  /// True once both the number of waits and the clock have reached the bound.
  ///
  /// The clock alone continues while the process is stopped, and waits that a filter forbids take no time.
  var isLate: Bool {
    @inline(never) @_noLocks get {
      let patience = capture.installed.patience
      guard count >= patience / WaitingBound.milliseconds else { return false }
      return start == 0
        || pm_monotonic_clock() &- start > UInt64(truncatingIfNeeded: patience) &* 1_000_000
    }
  }
}
