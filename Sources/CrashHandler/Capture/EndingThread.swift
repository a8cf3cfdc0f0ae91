internal import CSignalSafe

/// A thread that ends the process while another one's crash is captured.
///
/// Alone, the crash would have ended the process before; so the thread waits until the capture is
/// done, and then the crash does. Where a previous handler lets the process live, the thread goes
/// on. Threads that do not block the stop signals are stopped before they come here.
///
/// RUNS-DURING-CRASH: `_exit` calls it, also in a child of vfork.
@safe
struct EndingThread {
  /// Rounds of 100 ms: a capture that takes longer has its own bound behind it.
  private static var patience: Int { @_noLocks get { 100 } }

  private let capture: Capture

  @_noLocks
  init(_ capture: Capture) {
    self.capture = capture
  }

  /// Returns at once where no other thread of this process captures.
  @_noLocks
  func waitForCapture() {
    guard capture.shared.owner.value != 0, OwnProcess(capture).isCurrent
    else { return }
    let thread = UInt32(bitPattern: pm_gettid())
    let start = capture.makes(CallBit.clocks) ? pm_monotonic_clock() : 0
    var rounds = 0
    while true {
      let turn = capture.shared.turn.value
      let owner = capture.shared.owner.value
      // A wait may end early, or not begin at all under a filter.
      let isLate =
        rounds >= EndingThread.patience
        && (start == 0 || pm_monotonic_clock() &- start > 10_000_000_000)
      if owner == 0 || owner == thread || isLate { return }
      capture.shared.turn.wait(while: turn, milliseconds: 100)
      rounds &+= 1
    }
  }
}
