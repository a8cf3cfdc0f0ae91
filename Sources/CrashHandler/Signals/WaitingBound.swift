internal import CSignalSafe

/// The time for which a thread that crashed waits while another one captures.
///
/// `Installed.patience`. There is no bound while Swift's backtracer runs: without our handler it has none. Once
/// the process ends there is no leaving: a thread that went on would end it by another signal. If it
/// lives on for so long all the same, because there is no timer or its signal does not come, it is
/// ended by the signal of the dump.
///
/// RUNS-DURING-CRASH.
@safe
struct WaitingBound {
  /// Milliseconds of one wait, which may end early, or not begin at all under a filter.
  static var milliseconds: Int { @_noLocks get { 100 } }

  private let capture: Capture
  private(set) var isBegun = false
  private var ending: UInt32 = 0
  private var count = 0
  private var start: UInt64 = 0

  @_noLocks
  init(_ capture: Capture) {
    self.capture = capture
  }

  /// True once the thread waits no longer.
  var isOver: Bool {
    @_noLocks get { isBegun && ending == 0 && isLate }
  }

  @_noLocks
  mutating func begin() {
    isBegun = true
    ending = capture.shared.ending.value
    count = 0
    start = capture.clock
  }

  /// Counts a wait.
  @_noLocks
  mutating func add() {
    count &+= 1
    if capture.shared.ending.value != ending { return begin() }
    if ending == Shared.Ending.now, isLate { capture.endLate() }
  }

  /// By the number of waits and by the clock: the clock continues while the process is stopped, and waits
  /// that do not begin take no time.
  var isLate: Bool {
    @inline(never) @_noLocks get {
      let patience = capture.installed.patience
      guard count >= patience / WaitingBound.milliseconds else { return false }
      return start == 0
        || pm_monotonic_clock() &- start > UInt64(truncatingIfNeeded: patience) &* 1_000_000
    }
  }
}
