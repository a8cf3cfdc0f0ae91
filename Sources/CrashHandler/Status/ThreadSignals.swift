internal import Glibc
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
      guard Int32(name) != nil,
        let text = SystemFile.text("/proc/\(process)/task/\(name)/status"),
        let thread = ThreadSignals(statusText: text)
      else { continue }
      threads.append(thread)
    }
    return threads.sorted { $0.threadID < $1.threadID }
  }

  init?(statusText: String) {
    var fields: [Substring: String] = [:]
    for line in statusText.split(separator: "\n") {
      guard let colon = line.firstIndex(of: ":") else { continue }
      fields[line[..<colon]] = String(
        line[line.index(after: colon)...].drop { $0 == "\t" || $0 == " " })
    }
    guard let threadID = fields["Pid"].flatMap({ Int32($0) }) else { return nil }
    func set(_ field: Substring) -> SignalSet {
      SignalSet(mask: fields[field].flatMap { UInt64($0, radix: 16) } ?? 0)
    }
    self.threadID = threadID
    name = fields["Name"] ?? ""
    blocked = set("SigBlk")
    caught = set("SigCgt")
    ignored = set("SigIgn")
    innermostID =
      fields["NStgid"].flatMap { $0.split(separator: "\t").last }.flatMap { Int32($0) }
      ?? threadID
  }
}
