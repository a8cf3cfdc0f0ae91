internal import Glibc
internal import IntermediateDump
internal import PendingDumps

/// The signals of a process or of one thread, from `/proc`.
///
/// Ordinary code. Source: proc_pid_status(5).
package struct ThreadSignals: Sendable, Equatable {
  package let threadID: Int32
  /// As proc(5) escapes it.
  package let name: String
  package let blocked: SignalSet
  package let caught: SignalSet
  package let ignored: SignalSet
  /// The process's ID in its own PID namespace.
  package let innermostID: Int32

  /// Reads a process's own status file.
  ///
  /// - Parameter process: a process ID, or "self"; nil is returned if there is no such process.
  package init?(process: String) {
    guard let text = SystemFile.text("/proc/\(process)/status") else { return nil }
    self.init(statusText: text)
  }

  /// Reads those of all threads of a process; one that ends meanwhile is not among them.
  package static func threads(of process: String) -> [ThreadSignals] {
    guard let directory = unsafe opendir("/proc/\(process)/task") else { return [] }
    defer { unsafe closedir(directory) }
    var threads: [ThreadSignals] = []
    while let entry = unsafe readdir(directory) {
      let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      guard Int32(digits: name[...]) != nil,
        let text = SystemFile.text("/proc/\(process)/task/\(name)/status"),
        let thread = ThreadSignals(statusText: text)
      else { continue }
      threads.append(thread)
    }
    return threads
  }

  init?(statusText: String) {
    var threadID: Int32?
    var innermostID: Int32?
    var name: Substring = ""
    var (blocked, caught, ignored): (UInt64, UInt64, UInt64) = (0, 0, 0)
    for var line in statusText.lazyLines {
      guard let field = line.cut(before: UInt8(ascii: ":")) else { continue }
      let value = line.drop { $0 == "\t" || $0 == " " }
      switch field {
      case "Name": name = value
      case "Pid": threadID = Int32(digits: value)
      case "NStgid":
        innermostID = Int32(
          digits: value[(value.lastIndex(of: "\t") ?? value.startIndex)...].drop { $0 == "\t" })
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
  }
}
