internal import CSignalSafe
internal import IntermediateDump

/// The handler of TERM, INT, HUP and PIPE where their action was the default: notes the time, then lets
/// the default action follow.
///
/// The signal is sent again to the same thread with its own siginfo, so that the process ends as
/// without us. The first process of a PID namespace goes on: there the kernel discards the default
/// action.
///
/// RUNS-DURING-CRASH, on any thread, in a child too. Source: sigaction(2), pid_namespaces(7).
@c(pm_handle_termination) @_noLocks
func pm_handle_termination(
  _ signal: Int32, _ information: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?
) {
  unsafe pm_run_handler(pm_in_termination, signal, information, context)
}

/// The rest of it, where the thread's control block can be read.
///
/// RUNS-DURING-CRASH.
@c(pm_in_termination) @_noLocks
private func pm_in_termination(
  _ signal: Int32, _ information: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?
) {
  pm_allow_unaligned_access()
  let processID = pm_getpid()
  if let capture = Capture.ofHandler {
    let note = RunNoteFile(capture)
    note.noteTermination(signal, reaction: processID == 1 ? .discarded : .defaultAction)
  }
  if processID == 1 { return }
  // Kept from us, it would come back to this handler.
  if SignalAction.set(signal, pm_signal_action()) {
    let isQueued =
      unsafe SignalInformation(information)?.queue(signal, for: pm_gettid(), of: processID) ?? false
    if !isQueued { _ = pm_kill(processID, signal) }
    // It ends the process here; a filter may keep the handler from returning.
    if !SignalMask.unblock(SignalMask.bit(signal)) { return }
  }
  _ = pm_exit_group(128 &+ signal)
}

/// A thread that ends the process while another one's crash is captured.
///
/// Alone, the crash would have ended the process before; so the thread waits until the capture is
/// done, and then the crash does. If a previous handler lets the process live, the thread goes
/// on. Threads that do not block the stop signals are stopped before they come here.
///
/// RUNS-DURING-CRASH: `_exit` calls it, also in a child of vfork.
@safe
struct EndingThread {
  private let capture: Capture

  @_noLocks
  init(_ capture: Capture) {
    self.capture = capture
  }

  /// Returns at once where no other thread of this process captures.
  @_noLocks
  func waitForCapture() {
    guard capture.shared.capturingThread.value != 0, OwnProcess(capture).isCurrent
    else { return }
    let thread = UInt32(bitPattern: pm_gettid())
    var bound = WaitingBound(capture)
    bound.begin()
    while true {
      let turn = capture.shared.turn.value
      let owner = capture.shared.capturingThread.value
      if owner == 0 || owner == thread || bound.isLate { return }
      capture.shared.turn.wait(while: turn, milliseconds: WaitingBound.milliseconds)
      bound.add()
    }
  }
}
