internal import CSignalSafe

/// One thread captures at a time; those that crash or end the process meanwhile wait.
///
/// RUNS-DURING-CRASH, on any thread.
extension Capture {
  /// Makes the calling thread the one that captures, once no other does.
  ///
  /// A thread that crashes while another captures waits. If the process lives on, its own crash is
  /// the next; if not, it waits until the process no longer exists.
  ///
  /// - Returns: false if the other one is not done within `Installed.patience`.
  @_noLocks
  func waitToCapture(_ signal: DeliveredSignal) -> Bool {
    let threadID = pm_gettid()
    let waiting = shared.waiting
    var bound = WaitingBound(self)
    while true {
      let turn = shared.turn.value
      let other = shared.capturingThread.exchange(
        expected: 0, desired: UInt32(bitPattern: threadID))
      if other == 0 {
        if bound.isBegun { waiting.remove(threadID) }
        return true
      }
      if bound.isOver {
        waiting.remove(threadID)
        return false
      }
      if !bound.isBegun {
        let isKnown = waiting.add(threadID, context: signal.context)
        if isKnown, shared.stops.parking.value != 0 { shared.stops.noteStop() }
        bound.begin()
      }
      if shared.ending.value == Shared.Ending.later {
        standIn(signal.context, while: shared.ending, is: Shared.Ending.later)
        continue
      }
      while shared.turn.value == turn && !bound.isOver {
        shared.turn.wait(while: turn, milliseconds: WaitingBound.milliseconds)
        bound.add()
      }
    }
  }

  /// Has a thread that ends the process wait while another one's crash is captured.
  ///
  /// Alone, the crash would have ended the process before; so the thread waits until the capture is
  /// done, and then the crash does. If a previous handler lets the process live, the thread goes
  /// on. Threads that do not block the stop signals are stopped before they come here. Returns at once
  /// where no other thread of this process captures. `_exit` calls it, also in a child of vfork.
  @_noLocks
  func waitForCapture() {
    guard shared.capturingThread.value != 0, shared.isOwnProcess else { return }
    let thread = UInt32(bitPattern: pm_gettid())
    var bound = WaitingBound(self)
    bound.begin()
    while true {
      let turn = shared.turn.value
      let other = shared.capturingThread.value
      if other == 0 || other == thread || bound.isLate { return }
      shared.turn.wait(while: turn, milliseconds: WaitingBound.milliseconds)
      bound.add()
    }
  }
}
