internal import Glibc
internal import PendingDumps

/// Checks whether a thread of another process may be waiting for a signal in sigwait(3) or a similar call.
///
/// sigwait(3) would take the signal, so the handler would not get it.
///
/// While a thread waits for signals, the kernel shows these signals as not blocked, so the thread's signal mask does
/// not show the wait. Source: Linux kernel/signal.c, do_sigtimedwait.
enum SignalWait {
  #if arch(arm64)
    private static let call = "137"
  #else
    private static let call = "128"
  #endif

  /// - Returns: true if the thread may be waiting for the signal, or if the kernel does not show whether it waits.
  ///
  /// Source: proc_pid_syscall(5), proc_pid_wchan(5).
  static func mayWait(_ thread: Int32, of process: Int32, for signal: Int32) -> Bool {
    let directory = "/proc/\(process)/task/\(thread)"
    if let text = SystemFile.text(directory + "/syscall"), !text.isEmpty {
      let words = text.split(whereSeparator: \.isWhitespace)
      guard words.first == call[...] else { return false }
      guard words.count > 1, let address = UInt64(words[1].dropFirst(2), radix: 16),
        let set = word(at: address, of: process)
      else { return true }
      return set >> (UInt64(truncatingIfNeeded: signal &- 1) & 63) & 1 == 1
    }
    // Yama can hide the system call that a thread waits in, even from the process's own user. Then the thread's state
    // and wait channel are read instead.
    if let text = SystemFile.text(directory + "/stat"),
      text[(text.lastIndex(of: ")") ?? text.startIndex)...].hasPrefix(") R")
    {
      return false
    }
    let place = SystemFile.text(directory + "/wchan") ?? "0"
    return place == "0" || place.isEmpty || place.contains("sigtimedwait")
  }

  /// Reads 8 bytes of a process's memory; nil if they cannot be read.
  private static func word(at address: UInt64, of process: Int32) -> UInt64? {
    guard let offset = off_t(exactly: address) else { return nil }
    let memory = unsafe open("/proc/\(process)/mem", O_RDONLY | O_CLOEXEC)
    guard memory >= 0 else { return nil }
    defer { close(memory) }
    var word: UInt64 = 0
    return unsafe pread(memory, &word, 8, offset) == 8 ? word : nil
  }
}
