internal import CSignalSafe

/// The memory for what the handler writes to standard error in a crash, and facts that are set at launch.
///
/// RUNS-DURING-CRASH. Source: poll(2), pipe(7), write(2).
@safe
struct CrashSummary {
  /// The maximum size in bytes of all lines.
  static var textSize: Int { @_noLocks get { 6144 } }
  /// The maximum size in bytes of each of the `messages`.
  static var messageSize: Int { @_noLocks get { 16384 } }
  /// The size in bytes of `memory`: the room for the lines, for `size`, for `words` and for `messages`.
  static var byteCount: Int { @_noLocks get { textSize &+ 512 &+ messageSize &* 2 } }

  /// The signals for which a crash writes the summary.
  ///
  /// If Swift's backtracer prints the crash afterward, the summary is short: `HandlerOptions.writesSummary` lists what
  /// it then shows.
  ///
  /// Bit n - 1 stands for signal n.
  let signals: UInt64
  /// Descriptor 2, and the file that it referred to at launch.
  let standardError: HeldFile
  /// The product name and the version that were passed to `startHandler`, with a space after each.
  let program: Bytes
  /// The command that shows a report, without the report's ID.
  let command: Bytes
  let memory: Scratch

  /// The number of bytes of the complete lines.
  var size: Int {
    @_noLocks get { Int(truncatingIfNeeded: memory.word(CrashSummary.textSize)) }
    @_noLocks nonmutating set {
      memory.setWord(CrashSummary.textSize, UInt64(truncatingIfNeeded: newValue))
    }
  }

  /// The room for the words of a stack that become the next property.
  var words: Scratch { @_noLocks get { memory.dropFirst(CrashSummary.textSize &+ 8) } }

  /// The room for the messages of Swift's runtime and of libc, which are read when the dump begins.
  var messages: Scratch { @_noLocks get { memory.dropFirst(CrashSummary.textSize &+ 512) } }

  /// Writes the lines to descriptor 2.
  ///
  /// A write can block or raise a signal, because descriptor 2 may be a file, a terminal, a pipe without a reader, or a
  /// socket that the peer has closed. So nothing is written unless the kernel reports that there is room, which for a
  /// pipe means a whole page. The write may still block, if another writer was faster or a terminal was stopped. If a
  /// write blocks, the signal of the watchdog's timer ends it.
  @_noLocks
  func write() {
    var rest = memory.bytes(count: size)
    // If a pipe is full, each attempt waits for a reader, but at most 10 ms. A tick of the watchdog, which occurs every
    // 10 ms, also ends an attempt.
    for _ in Indices(15) where rest.count > 0 {
      let events = pm_wait_writable(STDERR_FILENO, 10)
      guard events > 0 else { continue }
      // The pipe or socket has no reader, or descriptor 2 is closed, so nothing more can be written.
      if events & Int(POLLERR | POLLHUP | POLLNVAL) != 0 { return }
      let result = unsafe pm_write(STDERR_FILENO, rest.address, rest.count)
      if result > 0 { rest = rest.dropFirst(result) }
      if result < 0 && result != -Int(EINTR) && result != -Int(EAGAIN) { return }
    }
  }
}
