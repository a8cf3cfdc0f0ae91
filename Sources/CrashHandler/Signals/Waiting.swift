internal import CSignalSafe

/// Lets only one thread capture at a time; other threads that crash or end the process wait.
///
/// RUNS-DURING-CRASH, on any thread.
extension Capture {
  /// Waits until no other thread captures, then makes the calling thread the capturing thread.
  ///
  /// If the process survives the other thread's crash, a waiting thread's crash is captured next; otherwise the threads
  /// wait until the process has ended.
  ///
  /// - Returns: false if the other thread is still capturing, but got no watchdog tick for as long as
  ///   `Installed.longestWaitMilliseconds`.
  @_noLocks
  func waitToCapture(_ call: HandlerCall) -> Bool {
    let (signal, threadID) = (call.signal, call.threadID)
    let waiting = shared.waiting
    var bound = WaitingBound(self)
    while true {
      let turn = shared.turn.value
      let other = shared.beginTurn(threadID)
      if other == 0 {
        if bound.isBegun { waiting.remove(threadID) }
        return true
      }
      if bound.isOver {
        waiting.remove(threadID)
        return false
      }
      if !bound.isBegun {
        let isKnown = unsafe waiting.add(
          threadID,
          ThreadEntries.Value(signal.context?.address, threadPointer: pm_thread_pointer()))
        // A waiting thread counts as stopped, because its registers are in the table of waiting crashes.
        if isKnown, shared.stops.parking.value != 0 { shared.stops.noteStop() }
        bound.begin()
      }
      if shared.ending.value == Shared.Ending.backtracing {
        standIn(signal.context, while: shared.ending, is: Shared.Ending.backtracing)
        continue
      }
      while shared.turn.value == turn && !bound.isOver {
        shared.turn.wait(while: turn, milliseconds: WaitingBound.milliseconds)
        bound.add()
      }
    }
  }

  /// Waits until no other thread is capturing, before the calling thread ends the process.
  ///
  /// Without this handler, the crash would have ended the process before the calling thread could end it. This wait
  /// normally lasts until the crash has ended the process. If the process survives the crash, or the wait reaches its
  /// limit (`WaitingBound`), this function returns.
  ///
  /// Usually, only threads that block the stop signals call this function, because the crash handler stops the others
  /// before they can call it. `exit`, `quick_exit` and `_exit` call this function through the functions that
  /// `ExitNotes` registers. If a vfork child calls `_exit`, the function returns immediately, because the capturing
  /// thread belongs to the parent process.
  @_noLocks
  func waitBeforeExit() {
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
