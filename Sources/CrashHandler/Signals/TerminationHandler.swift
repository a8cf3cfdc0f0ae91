internal import CSignalSafe
internal import IntermediateDump

/// The handler of TERM, INT, HUP and PIPE where their action was the default: notes the time, then lets
/// the default action follow.
///
/// The signal is sent again to the same thread with its own siginfo, so that the process ends as
/// without us. The first process of a PID namespace continues: there the kernel discards the default
/// action.
///
/// RUNS-DURING-CRASH, on any thread, in a child too. Source: sigaction(2), pid_namespaces(7).
@c(pm_handle_termination) @_noLocks
func pm_handle_termination(
  _ signal: Int32, _ information: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?
) {
  let processID = pm_getpid()
  if let capture = Capture.ofHandler {
    capture.noteTermination(signal, reaction: processID == 1 ? .discarded : .defaultAction)
  }
  if processID == 1 { return }
  // If a filter forbids rt_sigaction, the signal would reach this handler again.
  if SignalAction.set(signal, pm_signal_action()) {
    let isQueued =
      unsafe SignalInformation(information)?.queue(signal, for: pm_gettid(), of: processID) ?? false
    if !isQueued { _ = pm_kill(processID, signal) }
    // It ends the process here; a filter may keep the handler from returning.
    if !SignalMask.unblock(SignalMask.bit(signal)) { return }
  }
  _ = pm_exit_group(128 &+ signal)
}
