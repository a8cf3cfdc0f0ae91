internal import CSignalSafe
internal import Glibc
internal import IntermediateDump
internal import PendingDumps

/// Which signals a process or a thread blocks, handles, ignores and has pending, according to `/proc`.
///
/// Not crash code. Source: proc_pid_status(5).
package struct ThreadSignals: Sendable, Equatable {
  /// The maximum size of a signal frame on this machine in bytes, but at least 4,096.
  package static var frameSize: UInt64 { max(pm_minimum_signal_stack_size(), 4096) }

  package let threadID: Int32
  /// The name of the process or thread, escaped as in proc(5).
  package let name: String
  package let blocked: SignalSet
  package let caught: SignalSet
  package let ignored: SignalSet
  /// The process's ID in the innermost PID namespace that contains it.
  package let innermostID: Int32
  /// The thread's ID in the innermost PID namespace that contains it.
  package let innermostThreadID: Int32
  /// The signals that are pending for this thread alone (SigPnd), without those that are pending for the whole process.
  package let pending: SignalSet
  /// True if the thread has ended; `/proc` still lists the first thread of a process after its end.
  let hasEnded: Bool

  /// Reads the status file of a process, which shows the signals of the process's first thread.
  ///
  /// - Parameter process: a process ID, or "self".
  package init?(process: String) {
    guard let text = SystemFile.text("/proc/\(process)/status") else { return nil }
    self.init(statusText: text)
  }

  /// Reads the signals of all threads of a process, except those that end during the call.
  ///
  /// - Returns: an empty result if the process does not exist or may not be examined.
  package static func threads(of process: String) -> [ThreadSignals] {
    let directory = unsafe open("/proc/\(process)/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard directory >= 0 else { return [] }
    defer { close(directory) }
    return (DirectoryNames.of(directory) ?? []).compactMap {
      SystemFile.text("/proc/\(process)/task/\($0)/status").flatMap(ThreadSignals.init(statusText:))
    }.filter { !$0.hasEnded }
  }

  init?(statusText: String) {
    var threadID: Int32?
    var innermostID: Int32?
    var innermostThreadID: Int32?
    var name: Substring = ""
    var (blocked, caught, ignored, pending): (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
    var hasEnded = false
    for var line in statusText.lazyLines {
      guard let field = line.cut(before: UInt8(ascii: ":")) else { continue }
      let value = line.drop { $0 == "\t" || $0 == " " }
      switch field {
      case "Name": name = value
      case "Pid": threadID = Int32(digits: value)
      case "NStgid": innermostID = Self.last(of: value)
      case "NSpid": innermostThreadID = Self.last(of: value)
      case "State": hasEnded = value.hasPrefix("Z") || value.hasPrefix("X")
      case "SigPnd": pending = UInt64(digits: value, radix: 16) ?? 0
      case "SigBlk": blocked = UInt64(digits: value, radix: 16) ?? 0
      case "SigCgt": caught = UInt64(digits: value, radix: 16) ?? 0
      case "SigIgn": ignored = UInt64(digits: value, radix: 16) ?? 0
      default: break
      }
    }
    guard let threadID else { return nil }
    self.threadID = threadID
    self.name = String(name)
    self.blocked = SignalSet(mask: blocked)
    self.caught = SignalSet(mask: caught)
    self.ignored = SignalSet(mask: ignored)
    self.innermostID = innermostID ?? threadID
    self.innermostThreadID = innermostThreadID ?? threadID
    self.pending = SignalSet(mask: pending)
    self.hasEnded = hasEnded
  }

  /// Returns the last number in a list of IDs, one for each PID namespace; the last one is the ID in the innermost
  /// namespace.
  private static func last(of numbers: Substring) -> Int32? {
    Int32(
      digits: numbers[(numbers.lastIndex(of: "\t") ?? numbers.startIndex)...].drop { $0 == "\t" })
  }
}
