internal import CrashConverter
internal import CrashHandler
internal import CrashReportDatabase
internal import Glibc
internal import IntermediateDump
internal import PendingDumps
internal import Stackwalk

/// The subcommand `postmortem capture PID`.
enum CaptureCommand: Subcommand {
  static let name = "capture"
  static let summary = "create a report of a running process without stopping it"
  static let usage = ["[OPTION...] PID"]
  static let discussion = """
    Requests a dump from the crash handler of a running process. The process continues.

    Sends the signal with which the handler stops threads, together with a request. The thread that receives the \
    signal writes the dump. This takes milliseconds and stops that thread, and the threads that are running: a call \
    of poll, epoll_wait or nanosleep in that thread may end with EINTR. The dump contains all stacks. The command \
    then searches the process's memory for all Swift concurrency tasks, unless Yama denies this user access. The \
    dump becomes a report in the process's database, marked as requested.

    A signal without a handler would end the process. The command therefore sends the signal only if, at that \
    moment, the process holds its locked file (which exec closes), a conversion would consider the process alive, \
    and /proc/PID/status shows that it catches the signal. The signal goes to a thread that does not block it, does \
    not wait for it in sigwait, and has room for its frame: the first thread, if possible. The command also refuses \
    a forked worker, which has no run record, and a process that is stopped, has no such thread, or has \
    HandlerOptions.takesDumpRequests off. Three things cannot be detected from outside: an exec or a sigwait in the \
    microseconds between this check and the signal; a handler of the program that replaced this package's handler; \
    and small alternate stacks, if Yama denies a user access to the memory of the user's own process.
    """
  static let options: [CommandOption] = [
    CommandOption(
      "--all-threads",
      "stop the waiting threads too during the dump, so that all stacks are of one moment; each may see EINTR, as "
        + "above"
    ),
    CommandOption(
      "-d, --database", value: "DIR", completing: .directory,
      "refuse the process if its database is not DIR"),
    CommandOption(
      "--timeout", value: "SECONDS",
      "how long to wait for the dump (default: 10). The handler ignores a request during a crash or another dump; "
        + "the command waits up to 3 seconds for the end of one that it detects"),
    .json("print one JSON object, with what process --json prints for a dump"),
  ]
  static let operands = Operands(1...1, "PID", completing: .processID)
  static let closing = """
    Run this command as the process's user or as root.

    Exit status: 0 if there is a report of a complete dump; 1 if there is no report, or only one of a truncated \
    dump; 64 for a usage error.
    """

  /// The default time limit of a dump, in seconds.
  private static let longestDump = 3

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(words, of: self)
    let processID = try arguments.processID(arguments.operands[0])
    let seconds = try arguments.integer("--timeout", in: 1...3600) ?? 10
    let request = CaptureRequest(
      number: .random(in: 1 ... .max), stopsThreads: arguments.has("--all-threads"))
    let moment = QuietMoment(of: processID, seconds: min(seconds, longestDump))
    var process = try moment.find { () throws(ToolError) in
      try RequestedProcess(processID, database: arguments["--database"])
    }
    let contextSwitches = ContextSwitches(of: processID)
    try process.send(request, at: moment)
    let reportID = try process.wait(for: request, seconds: seconds)
    let processed = try processIntermediateDump(
      reportID, database: process.database, files: ProcessFiles(of: "\(processID)"),
      tasks: process.tasks,
      fileLocks: FileLockSearch.waits(of: "\(processID)"), contextSwitches: contextSwitches)
    guard let processed else {
      return try StandardOutput.print(
        "report \(reportID), created by another converter; "
          + "postmortem show\(process.database.asDatabaseOperand)\n")
    }
    if arguments.has("--json") {
      try StandardOutput.print(JSON.text(of: ProcessedEntry(processed)))
    } else {
      try StandardOutput.print(processed.line(database: process.database) + "\n")
    }
    guard processed.outcome.kind == .complete else { throw ToolError.printed }
  }
}

/// Waits for a moment at which a process is not writing a dump.
///
/// While a process writes a dump, it ignores requests, the writing thread blocks most signals, and the file of that
/// dump can be mistaken for the locked file of the handler.
private struct QuietMoment {
  private static let attempts = 4
  private let processID: Int32
  private let deadline: ContinuousClock.Instant

  init(of processID: Int32, seconds: Int) {
    self.processID = processID
    deadline = .now + .seconds(seconds)
  }

  /// Examines the process, and tries again a few times after an error, because a process that is writing a dump looks
  /// like one that does not accept requests.
  ///
  /// Writing a dump usually takes milliseconds, so a few attempts are enough.
  ///
  /// - Throws: the error of the last call of `look`.
  func find<Value: ~Copyable>(_ look: () throws(ToolError) -> Value) throws(ToolError) -> Value {
    var attempt = 1
    while true {
      while ContinuousClock.now < deadline, isDumping { usleep(5_000) }
      do throws(ToolError) {
        return try look()
      } catch {
        guard attempt < Self.attempts else { throw error }
      }
      attempt += 1
      usleep(5_000)
    }
  }

  /// True while a thread blocks libc's own signals (32 and 33), which happens in this package's handler and, for a
  /// moment, in libc.
  ///
  /// A program cannot block these signals through libc.
  private var isDumping: Bool {
    ThreadSignals.threads(of: "\(processID)").contains {
      $0.blocked.contains(32) && $0.blocked.contains(33)
    }
  }
}

/// A process that is known to accept dump requests.
private struct RequestedProcess: ~Copyable {
  let database: String
  private let processID: Int32
  private let descriptor: ProcessDescriptor
  private let signal: Int32
  private let toldStacks: UInt64?
  /// The thread to which the signal was sent; 0 before that.
  private var thread: Int32 = 0
  /// The directory of pending dumps.
  ///
  /// The directory stays open, because its path may lead through the other process (`/proc/PID/fd`), which may end.
  private let directory: Directory

  /// Opens a pidfd of the process first, so that all later checks are about the process that gets the signal.
  init(_ processID: Int32, database path: String?) throws(ToolError) {
    let opened = try Self.open(processID)
    let found = try HandledProcess(processID)
    guard let file = found.file, let directory = found.directory, let database = found.database
    else {
      throw ToolError("process \(processID) has no crash handler: it holds no locked file")
    }
    if let path,
      InputFile.identity(of: DatabaseDirectory.place(path)) != InputFile.identity(of: database)
    {
      throw ToolError("the database of process \(processID) is \(database.escapedForMessage)")
    }
    guard let record = found.record, !file.isDeleted, found.isOwner else {
      throw ToolError("process \(processID) has no run record: see postmortem doctor")
    }
    guard record.takesRequests, let signal = record.signals.map({ Int32(bitPattern: $0.stop) })
    else {
      throw ToolError("process \(processID) does not accept dump requests")
    }
    let held = try Self.directory(directory)
    descriptor = opened
    self.processID = processID
    self.signal = signal
    toldStacks = record.toldStacks
    self.database = database
    self.directory = held
  }

  private static func open(_ processID: Int32) throws(ToolError) -> ProcessDescriptor {
    do throws(ProcessDescriptor.SystemError) {
      return try ProcessDescriptor(processID)
    } catch {
      throw ToolError("process \(processID): \(ToolError.text(error.errno))")
    }
  }

  private static func directory(_ path: String) throws(ToolError) -> Directory {
    do throws(CrashReportDatabaseError) {
      return try Directory(path: path)
    } catch {
      throw ToolError(error.description)
    }
  }

  /// Checks the process one last time, and immediately sends the request.
  mutating func send(
    _ request: CaptureRequest, at moment: QuietMoment
  ) throws(ToolError) {
    thread = try moment.find { () throws(ToolError) in try checkedThread() }
    do throws(ProcessDescriptor.SystemError) {
      try descriptor.queue(request, signal: signal, thread: thread)
    } catch {
      throw ToolError("process \(processID): \(ToolError.text(error.errno))")
    }
  }

  /// Checks that the process is the one that the run record describes, and that the process has a handler for the
  /// signal.
  ///
  /// - Returns: a thread that the signal can be sent to.
  private func checkedThread() throws(ToolError) -> Int32 {
    func refuse(_ reason: String) -> ToolError {
      ToolError("process \(processID) \(reason); no signal was sent")
    }
    guard case .found(let found) = ProcessProbe.look(at: UInt32(bitPattern: processID)),
      !found.hasEnded
    else { throw refuse("has ended") }
    if [UInt8(ascii: "T"), UInt8(ascii: "t")].contains(found.state) { throw refuse("is stopped") }
    let all = ThreadSignals.threads(of: "\(processID)")
    guard !all.isEmpty else { throw refuse("has ended, or this user may not examine it") }
    let threads = all.filter { !$0.blocked.contains(signal) }
    guard !threads.isEmpty else {
      throw refuse(
        all.contains { $0.blocked.contains(33) }
          ? "blocks every signal in every thread, as it does during a crash or another dump"
          : "blocks signal \(signal) in every thread")
    }
    let thread = chosen(among: threads.sorted { $0.threadID < $1.threadID })
    guard let thread else {
      throw refuse(
        "may wait (sigwait) for signal \(signal) in each thread that does not block it, or has no room "
          + "there for a signal frame (small alternate stacks)")
    }
    let now = try HandledProcess(processID)
    guard now.signals.caught.contains(signal) else {
      throw refuse("no longer catches signal \(signal)")
    }
    guard now.isOwner, let verdict = now.verdict else {
      throw refuse("is not the process in its run record")
    }
    if case .dead(let reason) = verdict { throw refuse("is considered dead: \(reason)") }
    guard now.holdsFile else {
      throw refuse("is no longer the process in its run record: exec has replaced its program")
    }
    return thread.threadID
  }

  /// A thread that does not wait for the signal: the first one that is known to have room for the signal's frame or, if
  /// there is none, the first one that likely has room.
  ///
  /// If this tool cannot read the process's table of alternate stacks, it does not check for room.
  private func chosen(among threads: [ThreadSignals]) -> ThreadSignals? {
    func waits(_ thread: ThreadSignals) -> Bool {
      SignalWait.mayWait(thread.threadID, of: processID, for: signal)
    }
    guard let toldStacks, let room = SignalRoom(processID, toldStacks: toldStacks) else {
      return threads.first { !waits($0) }
    }
    var likely: ThreadSignals?
    for thread in threads {
      guard let certainty = room.certainty(of: thread), certainty == .known || likely == nil,
        !waits(thread)
      else { continue }
      if certainty == .known { return thread }
      likely = thread
    }
    return likely
  }

  /// Waits until the dump is finished, or until another converter has stored the dump's report in `pending/`.
  ///
  /// - Throws: `ToolError` after the deadline, or if the process has ended without a dump.
  func wait(for request: CaptureRequest, seconds: Int) throws(ToolError) -> ReportID {
    let deadline = ContinuousClock.now + .seconds(seconds)
    while ContinuousClock.now < deadline {
      // The end of the process is checked before the dump, because no dump can appear after that end.
      let hasEnded = descriptor.hasEnded
      if let reportID = answer(to: request) { return reportID }
      if hasEnded { throw ToolError("process \(processID) has ended without writing the dump") }
      usleep(10_000)
    }
    let waits = ThreadSignals.threads(of: "\(processID)").contains {
      $0.threadID == thread && $0.pending.contains(signal)
    }
    throw ToolError(
      "process \(processID) wrote no dump within \(seconds) s: "
        + (waits
          ? "signal \(signal) is still pending for thread \(thread)"
          : "it may be writing another dump, have no free descriptor, a limit on file sizes (RLIMIT_FSIZE), or its "
            + "own handler for signal \(signal)"))
  }

  /// All tasks of the process after its dump; nil if the process has ended or called exec, or for the reasons that
  /// `CapturedTasks` lists.
  var tasks: AllTasks? {
    let tasks = CapturedTasks(of: processID)?.tasks()
    // If the process has ended or called exec, the search may have read the memory of another program.
    guard tasks != nil, !descriptor.hasEnded, (try? HandledProcess(processID))?.holdsFile == true
    else {
      return nil
    }
    return tasks
  }

  private func answer(to request: CaptureRequest) -> ReportID? {
    let names = ((try? directory.names()) ?? []).compactMap(PendingDumpName.init(fileName:))
    let suffix = request.reportIDSuffix
    let pending = names.first {
      $0.role == .finished && $0.reportID.description.hasSuffix(suffix)
    }
    if let pending { return pending.reportID }
    return InputFile.names(in: database + "/pending").lazy.filter { $0.hasSuffix(suffix + ".dmp") }
      .compactMap { ReportID(String($0.dropLast(4))) }.first
  }
}
