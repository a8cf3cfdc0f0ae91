internal import CrashAnalysis
internal import CrashConverter
internal import CrashHandler
internal import CrashReport
internal import CrashReportDatabase
internal import IntermediateDump
internal import PendingDumps
internal import ProcessSnapshot

/// The findings about the crash handler of a running process.
struct ProcessExamination {
  private let processID: Int32
  /// What the first line of `doctor` says about the handler if the process has no problem.
  private var headline = ""
  private var title = ""
  private var problems: [String] = []
  private var notes: [String] = []
  private var hangs: [ReportID] = []

  var isHealthy: Bool { problems.isEmpty }

  /// Examines a process.
  ///
  /// - Throws: `ToolError` if there is no such process, or if this user may not examine it.
  init(_ processID: Int32) throws(ToolError) {
    self.processID = processID
    let found = try HandledProcess(processID)
    let links = found.links
    guard let file = found.file else {
      examineWithoutFile(found)
      return
    }
    hangs = found.hangs
    notes += hangs.map { hang in
      "it hangs now: postmortem show\(found.database?.asDatabaseOperand ?? "") "
        + hang.description.prefix(8)
    }
    if file.isDeleted {
      find("the locked file \(file.path) was removed: a crash will have to create a new one")
    }
    if case .dead(let reason) = found.verdict {
      find("the next conversion will consider this process dead: \(reason)")
    }
    if !found.holdsDirectory { find("the descriptor of \(file.path.parentPath) was closed") }
    let record = found.record
    let fifo = file.path.parentPath + "/" + file.name.with(role: .fifo).description
    // Other processes detect by the FIFO, or by the mapping of the run record, that the examined process is still
    // running.
    if !links.values.contains(fifo), record?.isMapped != true {
      let waits = "another container detects the end of this process only after a day or more"
      if let directory = found.directory, !InputFile.exists("\(directory)/\(fifo.lastComponent)") {
        notes.append("there is no FIFO, which some file systems do not support: \(waits)")
      } else {
        find("the process does not hold the FIFO \(fifo): \(waits)")
      }
    }
    if let directory = found.directory,
      HandlerStatus.Finding.changesInode("\(directory)/\(file.path.lastComponent)")
    {
      notes.append(
        "the file system changes inode numbers: if a seccomp filter also refuses kcmp, dumps may be lost "
          + "(Handler.status shows this)")
    }
    examineSignals(found)
    if let record { tellOfKill(record) }
    if let database = found.database { tellOfUploads(database) }
    findBlocked(processID)
    title = found.title
    headline =
      "the crash handler is in place; the next report is \(file.name.reportID) in "
      + file.path.parentPath.parentPath
  }

  /// The lines of the command's output: the first has the answer, the others the further problems and the notes.
  var lines: [String] {
    isHealthy
      ? ["OK: \(title): \(headline)"] + notes.map { "note: \($0)" }
      : ["PROBLEM: \(title): \(problems[0])"] + problems.dropFirst().map { "problem: \($0)" }
        + notes.map { "note: \($0)" }
  }

  var answer: DoctorCommand.Answer {
    DoctorCommand.Answer(
      pid: processID, healthy: isHealthy,
      findings: (isHealthy ? ["\(title): \(headline)"] : problems) + notes, problems: problems,
      notes: notes, hangs: hangs.map(\.description))
  }

  /// Examines a process without a locked file, which may be a forked process.
  ///
  /// A forked process has inherited its parent's handler and the descriptor of the pending directory. Unless daemon(3)
  /// forked it, it has no locked file until it crashes.
  private mutating func examineWithoutFile(_ found: HandledProcess) {
    title = found.title
    let process = found.signals
    guard
      let directory = found.links.values.first(where: {
        $0.lastComponent == PendingDumpName.directory
      })
    else {
      return find("no crash handler is installed: the process holds no locked file")
    }
    let missing = SignalSet.faults.subtracting(process.caught)
    if !missing.isEmpty { find("\(missing.names) are not caught") }
    findBlocked(process.threadID)
    headline =
      "it was forked by a process with a crash handler, and creates its locked file in \(directory) when it "
      + "crashes"
  }

  /// Describes the report that would be made if the process were killed by SIGKILL now.
  private mutating func tellOfKill(_ record: RunRecord) {
    guard let end = RunEnd(ifKilledNow: record) else {
      notes.append(
        "a SIGKILL now would leave no report: "
          + (record.course == nil
            ? "HandlerOptions.reportsUncleanEnds is off, or the run record had no room"
            : record.bootID.isEmpty
              ? "its /proc does not contain the boot ID (mount option subset=pid)"
              : "it is already ending, or, without the trait Interposition, a kill looks like _exit")
      )
      return
    }
    notes.append(
      "a SIGKILL now would leave a report: \(end.text) Under postmortem run, the signal would be certain."
    )
    guard let beat = record.course?.heartbeat else {
      notes.append(
        "it has no heartbeats: the report would show neither when it ended nor what it did last; set "
          + "HandlerOptions.heartbeatInterval")
      return
    }
    let last = beat.breadcrumbs.last.map { ", the last '\($0.text)'" } ?? ""
    notes.append(
      "last heartbeat \(Timestamp(nanoseconds: beat.time).second) UTC with "
        + "\(beat.breadcrumbs.count) breadcrumbs\(last)")
  }

  /// Describes the reports of the process's database that could not be uploaded.
  private mutating func tellOfUploads(_ path: String) {
    guard let database = try? CrashReportDatabase(existing: path),
      let reports = try? database.listing().knownReports,
      let unsent = UnsentReports(among: reports)
    else { return }
    notes.append(
      "\(unsent.count) \(unsent.count == 1 ? "report is" : "reports are") not uploaded"
        + (unsent.reason.map { ": \($0)" } ?? ""))
  }

  private mutating func find(_ line: String) {
    problems.append(line)
  }

  /// Reports the threads that block signals of faults as problems.
  private mutating func findBlocked(_ processID: Int32) {
    for finding in HandlerStatus.Finding.blocked(ThreadSignals.threads(of: "\(processID)")) {
      find(finding.description)
    }
  }

  /// Checks whether the process still handles the signals that its run record names.
  private mutating func examineSignals(_ found: HandledProcess) {
    let process = found.signals
    guard let record = found.record, let signals = record.signals else {
      return find("there is no run record: it is not known which signals should be caught")
    }
    if !found.isOwner {
      return find(
        "the locked file belongs to process \(record.processID): this process has inherited it")
    }
    let missing = SignalSet(mask: signals.crash).subtracting(process.caught)
    for signal in missing.signals {
      let action = process.ignored.contains(signal) ? "it is ignored" : "it has the default action"
      find("\(SignalNames.text(signal)) is no longer caught: \(action)")
    }
    let helpers = [(signals.stop, "stops threads"), (signals.watchdog, "limits the time")]
    for (number, purpose) in helpers {
      let signal = Int32(bitPattern: number)
      guard signal != 0, !process.caught.contains(signal) else { continue }
      find("signal \(signal), which \(purpose) in a crash, is no longer caught")
    }
  }
}

extension HandledProcess {
  /// The process's ID and name, for the first line of the output.
  fileprivate var title: String { "process \(signals.threadID) (\(name))" }
}
