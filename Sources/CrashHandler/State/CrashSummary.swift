internal import CSignalSafe

/// The memory of the lines that a crash writes to standard error, and facts about them that are set at launch.
///
/// RUNS-DURING-CRASH. Source: poll(2), pipe(7), write(2).
@safe
struct CrashSummary {
  /// The maximum number of bytes that one write to a pipe keeps together, PIPE_BUF, so that summaries of several
  /// processes do not mix.
  static var textSize: Int { @_noLocks get { 4096 } }
  /// The number of bytes of `memory`: the lines, and a word that counts their bytes.
  static var byteCount: Int { @_noLocks get { textSize &+ 8 } }

  /// The signals for whose crashes a summary is written, or one line before the output of Swift's backtracer.
  ///
  /// Bit n - 1 stands for signal n.
  let signals: UInt64
  /// Descriptor 2 at launch.
  let standardError: HeldFile
  /// The value that was passed to `startHandler`; empty if there was none.
  let product: Bytes
  let version: Bytes
  let memory: Scratch

  /// The number of bytes of the complete lines.
  var size: Int {
    @_noLocks get { Int(truncatingIfNeeded: memory.word(CrashSummary.textSize)) }
    @_noLocks nonmutating set {
      memory.setWord(CrashSummary.textSize, UInt64(truncatingIfNeeded: newValue))
    }
  }

  /// Writes the lines to descriptor 2, which may be anything: a file, a terminal, a pipe without
  /// a reader, a socket whose peer has closed it.
  ///
  /// Nothing is written unless the kernel reports room, for a pipe a whole page. If there is no room after all
  /// (another writer was faster, or a terminal was stopped), the watchdog ends the wait.
  @_noLocks
  func write() {
    // A write may raise these signals. They are blocked in the handler, so they would stay pending and reach the
    // program later.
    let raised = SignalMask.bit(SIGPIPE) | SignalMask.bit(SIGXFSZ)
    guard let before = SignalMask.pending else { return }
    var rest = memory.bytes(count: size)
    var attempt = 0
    // Waits up to 10 ms each time until a full pipe is read, the time between two ticks of the watchdog.
    while rest.count > 0, attempt < 15 {
      attempt &+= 1
      let events = pm_wait_writable(STDERR_FILENO, 10)
      guard events > 0 else { continue }
      // There is no reader.
      if events & Int(POLLERR | POLLHUP | POLLNVAL) != 0 { return }
      let result = unsafe pm_write(STDERR_FILENO, rest.address, rest.count)
      if result > 0 {
        rest = rest.dropFirst(result)
      } else if result != -Int(EINTR) && result != -Int(EAGAIN) {
        if result < 0 { SignalMask.take(raised & ~before) }
        return
      }
    }
  }
}
