internal import CSignalSafe

/// Writes the summary to descriptor 2.
///
/// RUNS-DURING-CRASH.
@c(pm_write_standard_error) @_noLocks
func pm_write_standard_error(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  guard capture.isSame(capture.installed.summary.standardError) else { return }
  StandardError().write(
    capture.installed.summary.text.bytes(count: capture.session.summarySize))
}

/// A descriptor that may be anything: a file, a terminal, a pipe that nobody reads, a socket whose
/// other end is gone.
///
/// Nothing is written unless the kernel says that there is room, which for a pipe means a whole
/// page of it: a block that fits is written in one piece and does not wait. If the kernel's word
/// does not hold (another writer was faster, a terminal was stopped), the watchdog ends the wait.
///
/// RUNS-DURING-CRASH. Source: poll(2), pipe(7), write(2).
struct StandardError {
  /// Milliseconds that a full pipe is given to be read, and attempts: no longer than from one tick of
  /// the watchdog to the next, which ends the wait.
  private static var patience: Int64 { @_noLocks get { 10 } }
  private static var attempts: Int { @_noLocks get { 15 } }

  @_noLocks
  init() {}

  @_noLocks
  func write(_ bytes: Bytes) {
    // A write may raise them. Blocked in the handler, they would wait for
    // its end and be the process's.
    let raised = SignalMask.bit(SIGPIPE) | SignalMask.bit(SIGXFSZ)
    guard let before = SignalMask.pending else { return }
    var done = 0
    var attempt = 0
    while done < bytes.count, attempt < StandardError.attempts {
      let events = pm_wait_writable(STDERR_FILENO, StandardError.patience)
      // Nobody is there.
      if events > 0, events & Int(POLLERR | POLLHUP | POLLNVAL) != 0 { return }
      attempt &+= 1
      guard events > 0 else { continue }
      let result = unsafe pm_write(STDERR_FILENO, bytes.address + done, bytes.count &- done)
      if result > 0 {
        done &+= result
      } else if result != -Int(EINTR) && result != -Int(EAGAIN) {
        let taken = raised & ~before
        if result < 0, taken != 0 { SignalMask.take(taken) }
        return
      }
    }
  }
}
