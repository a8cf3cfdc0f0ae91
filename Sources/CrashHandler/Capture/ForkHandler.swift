internal import CSignalSafe

/// Runs in a child that fork(2) has made, before fork returns there.
///
/// At once, and not when the child first needs the handler: a child that never does would hold the
/// FIFO of its parent open, and say that the parent lives.
///
/// Source: pthread_atfork(3), fork(2).
@c(pm_handle_fork) @_noLocks
func pm_handle_fork() {
  guard let capture = Capture.ofHandler else { return }
  OwnProcess(capture).becomeForked()
}
