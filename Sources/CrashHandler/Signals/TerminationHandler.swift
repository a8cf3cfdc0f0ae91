internal import CSignalSafe
internal import IntermediateDump

/// The handler for SIGTERM, SIGINT, SIGHUP and SIGPIPE, installed for those that had the default action.
///
/// The handler records the signal and the time in the run record, and then takes the default action.
///
/// To take the default action, it sends the signal again to the same thread with the original siginfo, so that the
/// process ends as it would have without this handler. The first process of a PID namespace continues, because for
/// that process the kernel discards a signal whose action is the default.
///
/// RUNS-DURING-CRASH, on any thread and in child processes. Source: sigaction(2), pid_namespaces(7).
@c(pm_handle_termination) @_noLocks
func pm_handle_termination(
  _ signal: Int32, _ information: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?
) {
  let processID = pm_getpid()
  if let capture = Capture.ofHandler {
    capture.noteTermination(signal, reaction: processID == 1 ? .discarded : .defaultAction)
  }
  if processID == 1 { return }
  // If a seccomp filter forbids rt_sigaction, the signal is not sent again, because this handler would receive it
  // again. The process then exits with status 128 plus the signal's number.
  if SignalAction.set(signal, pm_signal_action()) {
    let isQueued =
      unsafe SignalInformation(information)?.queue(signal, for: pm_gettid(), of: processID) ?? false
    if !isQueued { _ = pm_kill(processID, signal) }
    // The signal ends the process here, and not when the handler returns, because a seccomp filter may forbid
    // rt_sigreturn.
    if !SignalMask.unblock(SignalMask.bit(signal)) { return }
  }
  _ = pm_exit_group(128 &+ signal)
}
