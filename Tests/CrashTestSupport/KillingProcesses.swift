public import Foundation

extension Process {
  /// Waits for the end of the process itself, without collecting it.
  ///
  /// Foundation's own wait continues while any other process holds a socket that Foundation made for this one: a
  /// child of it, or a child that the test runner was spawning at that moment.
  public func waitForZombie() {
    var information = unsafe siginfo_t()
    unsafe waitid(P_PID, id_t(processIdentifier), &information, WEXITED | WNOWAIT)
  }

  /// Kills the process if it still runs, and waits for its end.
  public func killAndWait() {
    guard isRunning else { return }
    kill(processIdentifier, SIGKILL)
    waitForZombie()
  }
}
