internal import CrashConverter
internal import CrashHandler
internal import CrashReport
internal import IntermediateDump
internal import PendingDumps
internal import ProcessSnapshot

/// The subcommand `postmortem doctor PID`.
enum DoctorCommand: Subcommand {
  static let name = "doctor"
  static let summary = "check whether a running process's crash would be captured"
  static let help = """
    Checks whether a crash of a running process would be captured, and prints what is in the way.

    Usage: postmortem doctor PID [--json]

    Looks from outside, at /proc: whether the process holds the locked file, FIFO and directory of a
    crash handler, whether it catches the signals that its run record names, and whether a thread
    blocks the signals that an instruction raises. The owner of a signal's handler cannot be seen from
    outside: ask Handler.status in the process. Says too what a SIGKILL now would leave: the verdict with
    its certainty, the last heartbeat and its breadcrumbs. Needs the right to trace the process: the same user
    where the process is dumpable (PR_SET_DUMPABLE), or root.

      --json  print a JSON object with processID, healthy and findings, the lines of text

    Exit status: 0 all is well, 1 something is in the way or PID cannot be examined, 64 wrong usage.

    """

  /// The JSON.
  struct Answer: Codable {
    let processID: Int32
    let healthy: Bool
    let findings: [String]
  }

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(words, flags: ["--json"], operands: 1...1, help: help)
    let processID = try arguments.processID(help: help)
    let examination = try ProcessExamination(processID)
    if arguments.has("--json") {
      Terminal.print(
        try JSON.text(
          of: Answer(
            processID: processID, healthy: examination.isHealthy, findings: examination.lines)))
    } else {
      for line in examination.lines { Terminal.print(line.escapedForMessage + "\n") }
    }
    if !examination.isHealthy { throw ToolError.printed }
  }
}

/// Findings on the crash handler of a running process, seen from outside.
private struct ProcessExamination {
  private(set) var lines: [String] = []
  private(set) var isHealthy = true

  /// Looks at a process.
  ///
  /// - Throws: `ToolError` if there is no such process, or it may not be looked at.
  init(_ processID: Int32) throws(ToolError) {
    let found = try HandledProcess(processID)
    let (process, links) = (found.signals, found.links)
    guard let file = found.file else {
      examineWithoutFile(process, holds: Array(links.values))
      return
    }
    if file.isDeleted {
      find("the locked file \(file.path) was removed: a crash has to make a new one")
    }
    if case .dead(let reason) = found.verdict {
      find("the next conversion takes this process for dead: \(reason)")
    }
    if !found.holdsDirectory { find("the descriptor of \(file.path.parent) was closed") }
    let record = found.record
    let fifo = file.path.parent + "/" + file.name.with(role: .fifo).description
    // A mapping of its run record says that it lives, too.
    if !links.values.contains(fifo), record?.isMapped != true {
      let waits = "another container sees this process's end after a day at the least"
      if let directory = found.directory, !InputFile.exists("\(directory)/\(fifo.lastComponent)") {
        lines.append("there is no FIFO, which some file systems do not have: \(waits)")
      } else {
        find("the FIFO \(fifo) is not held: \(waits)")
      }
    }
    examineSignals(found)
    if let record { tellOfKill(record) }
    findBlocked(processID)
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
    findBlocked(process.threadID)
    if isHealthy {
      lines.append(
        "\(title) was forked by a process with a crash handler, and makes its locked file in "
          + "\(directory) when it crashes")
    }
  }

  /// Says what a SIGKILL now, which no handler sees, would leave.
  private mutating func tellOfKill(_ record: RunRecord) {
    guard let end = RunEnd(ifKilledNow: record) else {
      lines.append(
        "killed now, it would leave no report: "
          + (record.course == nil
            ? "HandlerOptions.reportsUncleanEnds is off, or the run record had no room"
            : record.bootID.isEmpty
              ? "its /proc does not tell the boot (mount option subset=pid)"
              : "it ends already, or without the trait Interposition a kill looks like _exit"))
      return
    }
    lines.append(
      "killed now, it would leave a report: \(end.text) Under postmortem run the signal is certain."
    )
    guard let beat = record.course?.heartbeat else {
      lines.append(
        "it has no heartbeats: the report would say neither when nor what it did last; set "
          + "HandlerOptions.heartbeatInterval")
      return
    }
    let last = beat.breadcrumbs.last.map { ", the last '\($0.text)'" } ?? ""
    lines.append(
      "last heartbeat \(Timestamp(nanoseconds: beat.time).second) UTC with "
        + "\(beat.breadcrumbs.count) breadcrumbs\(last)")
  }

  private mutating func find(_ line: String) {
    lines.append(line)
    isHealthy = false
  }

  /// Names the threads that block the signals of a fault.
  private mutating func findBlocked(_ processID: Int32) {
    for finding in HandlerStatus.Finding.blocked(ThreadSignals.threads(of: "\(processID)")) {
      find(finding.description)
    }
  }

  /// Compares the process's signals with what its run record says.
  private mutating func examineSignals(_ found: HandledProcess) {
    let process = found.signals
    guard let record = found.record, let signals = record.signals else {
      return find("there is no run record: which signals should be caught is not known")
    }
    if !found.isOwner {
      return find(
        "the locked file is process \(record.processID)'s: this process has inherited it")
    }
    let missing = SignalSet(mask: signals.crash).subtracting(process.caught)
    for signal in missing.signals {
      let action = process.ignored.contains(signal) ? "it is ignored" : "it has the default action"
      find("\(SignalNames.text(signal)) is not caught any more: \(action)")
    }
    let helpers = [(signals.stop, "stops threads"), (signals.watchdog, "bounds the time")]
    for (number, purpose) in helpers {
      let signal = Int32(bitPattern: number)
      guard signal != 0, !process.caught.contains(signal) else { continue }
      find("signal \(signal), which \(purpose) in a crash, is not caught any more")
    }
  }
}
