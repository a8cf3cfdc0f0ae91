internal import CrashHandler
internal import Foundation
internal import IntermediateDump
internal import PendingDumps

/// The subcommand `postmortem doctor PID`.
enum DoctorCommand: Subcommand {
  static let name = "doctor"
  static let summary = "check whether a running process's crash would be captured"
  static let help = """
    Checks whether a crash of a running process would be captured, and prints what is in the way.

    Usage: postmortem doctor PID

    Looks from outside, at /proc: whether the process holds the locked file, FIFO and directory of a
    crash handler, whether it catches the signals that its run record names, and whether a thread
    blocks the signals that an instruction raises. The owner of a signal's handler cannot be seen from
    outside: ask Handler.status in the process. Needs the right to trace the process: the same user,
    or root.

    Exit status: 0 all is well, 1 something is in the way or PID cannot be examined, 64 wrong usage.

    """

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(words, operands: 1...1, help: help)
    guard let processID = Int32(arguments.operands[0]), processID > 0 else {
      throw ToolError.usage(
        "'\(arguments.operands[0].escapedForMessage)' is not a process ID", help: help)
    }
    let examination = try ProcessExamination(processID)
    for line in examination.lines { Terminal.print(line.escapedForMessage + "\n") }
    if !examination.isHealthy { throw ToolError.printed }
  }
}

/// Findings on the crash handler of a running process, seen from outside.
private struct ProcessExamination {
  /// The locked file that a process holds open.
  private struct LockedFile {
    let path: String
    let name: PendingDumpName
    let isDeleted: Bool

    init?(link: String) {
      let mark = " (deleted)"
      isDeleted = link.hasSuffix(mark)
      path = isDeleted ? String(link.dropLast(mark.count)) : link
      guard let name = PendingDumpName(fileName: path.lastComponent), name.role == .locked,
        path.parent.lastComponent == PendingDumpName.directory
      else { return nil }
      self.name = name
    }
  }

  private(set) var lines: [String] = []
  private(set) var isHealthy = true

  /// Looks at a process.
  ///
  /// - Throws: `ToolError` if there is no such process, or it may not be looked at.
  init(_ processID: Int32) throws(ToolError) {
    let links = try Self.links(of: processID)
    guard let process = ThreadSignals(process: "\(processID)") else {
      throw ToolError("process \(processID) has ended")
    }
    let files = links.values.compactMap(LockedFile.init(link:))
    guard let file = files.first(where: { !$0.isDeleted }) ?? files.first else {
      examineWithoutFile(process, holds: Array(links.values))
      return
    }
    if file.isDeleted {
      find("the locked file \(file.path) was removed: a crash has to make a new one")
    }
    let directory = links.first { $0.value == file.path.parent }
    if directory == nil {
      find("the descriptor of \(file.path.parent) was closed")
    }
    // Through the process's own descriptor, which is right in another mount namespace too.
    let place = directory.map { "/proc/\(processID)/fd/\($0.key)" } ?? file.path.parent
    let record = Self.owner(at: place + "/" + file.name.with(role: .runRecord).description)
    let fifo = file.path.parent + "/" + file.name.with(role: .fifo).description
    // A mapping of its run record says that it lives, too.
    if !links.values.contains(fifo), record?.isMapped != true {
      find(
        "the FIFO \(fifo) is not held: another container sees this process's end after a day at the "
          + "least")
    }
    examineSignals(of: process, record: record)
    for finding in HandlerStatus.Finding.blocked(ThreadSignals.threads(of: "\(processID)")) {
      find(finding.description)
    }
    if isHealthy {
      lines.append(
        "process \(processID) ('\(process.name)'): the crash handler is in place; the next report is "
          + "\(file.name.reportID) in \(file.path.parent.parent)")
    }
  }

  /// A forked process has its parent's handler and descriptor of the directory, but no locked file
  /// until it crashes.
  private mutating func examineWithoutFile(_ process: ThreadSignals, holds paths: [String]) {
    let title = "process \(process.threadID) ('\(process.name)')"
    guard let directory = paths.first(where: { $0.lastComponent == PendingDumpName.directory })
    else {
      return find("\(title) holds no locked file: no crash handler lives in it")
    }
    let missing = SignalSet.faults.subtracting(process.caught)
    if !missing.isEmpty { find("\(missing.names) are not caught") }
    for finding in HandlerStatus.Finding.blocked(
      ThreadSignals.threads(of: "\(process.threadID)"))
    { find(finding.description) }
    if isHealthy {
      lines.append(
        "\(title) was forked by a process with a crash handler, and makes its locked file in "
          + "\(directory) when it crashes")
    }
  }

  private mutating func find(_ line: String) {
    lines.append(line)
    isHealthy = false
  }

  /// Compares the process's signals with what its run record says.
  private mutating func examineSignals(
    of process: ThreadSignals, record: RunRecord?
  ) {
    guard let record, let signals = record.signals else {
      return find("there is no run record: which signals should be caught is not known")
    }
    if record.processID != UInt32(bitPattern: process.innermostID) {
      return find(
        "the locked file is process \(record.processID)'s: this process has inherited it")
    }
    let missing = SignalSet(mask: signals.crash).subtracting(process.caught)
    for signal in missing.signals {
      let action = process.ignored.contains(signal) ? "it is ignored" : "it has the default action"
      find("\(SignalSet.name(of: signal)) is not caught any more: \(action)")
    }
    let helpers = [(signals.stop, "stops threads"), (signals.watchdog, "bounds the time")]
    for (signal, purpose) in helpers where signal != 0 && !process.caught.contains(signal) {
      find("signal \(signal), which \(purpose) in a crash, is not caught any more")
    }
  }

  /// The target of each descriptor of a process.
  private static func links(of processID: Int32) throws(ToolError) -> [String: String] {
    let directory = "/proc/\(processID)/fd"
    let names: [String]
    do {
      names = try FileManager.default.contentsOfDirectory(atPath: directory)
    } catch {
      let reason =
        InputFile.isDirectory("/proc/\(processID)")
        ? "may not be looked at; be its user or root" : "does not exist"
      throw ToolError("process \(processID) \(reason)")
    }
    var links: [String: String] = [:]
    for name in names {
      links[name] = try? FileManager.default.destinationOfSymbolicLink(
        atPath: "\(directory)/\(name)")
    }
    return links
  }

  /// The run record at a path; nil if it cannot be read.
  private static func owner(at path: String) -> RunRecord? {
    FileManager.default.contents(atPath: path).flatMap { RunRecord(bytes: [UInt8]($0)) }
  }
}

extension String {
  /// The part behind the last slash.
  fileprivate var lastComponent: String {
    String(split(separator: "/", omittingEmptySubsequences: false).last ?? "")
  }

  /// The part before it.
  fileprivate var parent: String {
    lastIndex(of: "/").map { String(self[..<$0]) } ?? ""
  }
}
