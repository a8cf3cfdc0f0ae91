public import Foundation

extension Process {
  /// Waits for the end of the process itself, and does not collect it.
  ///
  /// Foundation's own wait goes on while any other process holds a socket that it made for this
  /// one: a child of it, or one of the test runner's that was being spawned at that moment.
  public func waitForZombie() {
    var information = unsafe siginfo_t()
    unsafe waitid(P_PID, id_t(processIdentifier), &information, WEXITED | WNOWAIT)
  }

  /// Kills it, if it still runs, and waits for its end.
  public func killAndWait() {
    guard isRunning else { return }
    kill(processIdentifier, SIGKILL)
    waitForZombie()
  }
}
