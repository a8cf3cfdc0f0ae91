internal import CrashAnalysis
internal import CrashReport
internal import CrashReportDatabase
internal import Glibc
internal import IntermediateDump
internal import PendingDumps

/// The subcommand `postmortem list [--group] [--json]`.
enum ListCommand: Subcommand {
  static let name = "list"
  static let aliases = ["ls"]
  static let summary = "list reports, and dumps that are not reports yet"
  static let usage = [
    "[OPTION...] [DIR/] [PROGRAM|PID|ID]", "--group [OPTION...] [DIR/] [PROGRAM|PID|ID]",
  ]
  static let discussion = """
    Lists the reports of a database, the dumps that wait to be converted (see postmortem process), and the hangs that \
    last. A word selects the rows of a program or process, or of IDs that begin with it.

    On a terminal, shows a table that fits its width, newest first and page by page: the beginning of the ID, age, \
    program, crash and location. The last line counts reports, waiting dumps and uploads. To a pipe or file, prints \
    only rows, oldest first, with two spaces between columns: ID; report, waiting (a dump), hanging (a hang that \
    lasts) or writing (a report that is being written); time in UTC; signal; program and version; cause; location; and \
    the state of the upload, if any: uploading; uploaded, and the server's ID; skipped, and why; the time of the next \
    attempt, and why the last one failed; "time old" for a crash more than 30 days ago, "time doubtful" if the clock \
    was wrong: the time is in the future, after the report's creation or before 2020. "-" means that a value is not \
    known.

    With --group, groups the crashes of one program with one signature (Docs/Reference/Signatures.md), most frequent \
    first. Each group has its count, its first and last time, and its versions.

    The facts of a report are determined when it is created, and stored in the file reports.index of the database. A \
    report that is missing there is read once, in a separate process, with names as postmortem show finds them. The \
    file can be deleted. The newest 50 dumps are read each time, in the same way.
    """
  static let options: [CommandOption] = [
    .databaseToRead,
    CommandOption(
      "-n, --limit", value: "COUNT", "print only the newest COUNT rows; -5 is short for -n 5"),
    CommandOption("-r, --reverse", "reverse the order"),
    CommandOption(
      "-f, --follow",
      "print the oldest first, then wait, and print each new row until SIGINT or SIGTERM"),
    .since, .until, .program, .processID,
    CommandOption("--group", "print groups of crashes instead of reports"),
    CommandOption(
      "--symbols", value: "DIR", completing: .directory,
      "with --group, as for postmortem show; reads every report again"),
    CommandOption(
      "-q, --quiet", "print only the IDs of reports, without a table, counts or remarks"),
    .color,
    .json(
      "print a JSON array of objects with reportID, state (report, waiting, hanging or writing), creationTime, bytes, "
        + "path; time, timeMark (old or doubtful), program, version, pid, "
        + "signal, cause, message, place and signature, if known; end, for a run that left no dump; and for a report "
        + "upload, with state (pending, uploading, uploaded, skipped), attempts, lastAttempt, nextAttempt, requested, "
        + "serverID and note. With --follow, one object per line. Groups have signature, program, count, first, last, "
        + "versions and reportIDs"
    ),
  ]
  static let operands = Operands(0...2, "PROGRAM", completing: .program)
  static let closing = """
    Exit status: 0; 1 if --group could not read a report (only that report is left out); 2 if a file of the database \
    could not be read (an error message names it).
    """

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(words, of: self)
    let isGrouped = arguments.has("--group")
    guard isGrouped || arguments.values(of: "--symbols").isEmpty else {
      throw arguments.usage("--symbols needs --group")
    }
    for option in ["--limit", "--reverse", "--follow"]
    where isGrouped && arguments.isGiven(option) {
      throw arguments.usage("\(option) cannot be used with --group")
    }
    let filter = try ReportFilter(arguments)
    let count = try arguments.integer("--limit", in: 0...1_000_000_000)
    let output = ReportOutput(try arguments.usesColor(), arguments)
    let path = try ReportDatabase.place(filter.path)
    if isGrouped { return try printGroups(in: path, filter, output, arguments) }
    guard arguments.has("--follow") else {
      var list = try Rows(in: path, filter, arguments)
      if let count { list.rows.removeFirst(max(0, list.rows.count - count)) }
      if arguments.has("--reverse") != output.isTable { list.rows.reverse() }
      let rest = DatabaseRest(of: path)
      try output.print(list: list.rows, of: (list.total, rest))
      if !output.isTable { for note in rest.notes { arguments.remark(note) } }
      filter.remarkIfNone(list.rows.count, arguments)
      return try list.unreadable.check()
    }
    try follow(path, filter, count, output, arguments)
  }

  /// Prints the newest rows, and then each new row, until a signal ends the command.
  private static func follow(
    _ path: String, _ filter: ReportFilter, _ count: Int?, _ output: ReportOutput,
    _ arguments: Arguments
  ) throws {
    let waiting = try WatchWaiting(stopsAt: [SIGINT, SIGTERM])
    var printed: Set<String> = []
    var isFirst = true
    repeat {
      // Watching starts before the list is read, so that a file that appears meanwhile causes an event.
      for directory in [PendingDumpName.directory, "pending", "completed"] {
        waiting.watch(path + "/" + directory, orIfMissing: path)
      }
      let list = try Rows(in: path, filter, arguments)
      var new = list.rows.filter { printed.insert("\($0.id) \($0.state)").inserted }
      if isFirst, let count { new.removeFirst(max(0, new.count - count)) }
      isFirst = false
      try output.print(following: new)
      try list.unreadable.check()
      // A hang that its process has not finished when it dies causes no event.
    } while waiting.wait(seconds: 60)
  }

  private static func printGroups(
    in path: String, _ filter: ReportFilter, _ output: ReportOutput, _ arguments: Arguments
  ) throws {
    guard try Rows.hasReports(path) else { return try output.print(groupsOf: [], []) }
    var unreadable = UnreadableFiles(of: path)
    let (reports, failures, refused) = try ListedReport.all(
      in: ReportDatabase.open(path), symbolDirectories: arguments.values(of: "--symbols"),
      needsProcesses: filter.needsProcesses)
    refused.forEach { unreadable.add($0) }
    try output.print(groupsOf: reports.filter { filter.matches(ListRow($0)) }, failures)
    guard failures.isEmpty else { throw unreadable.printed }
    try unreadable.check()
  }

  /// The rows of a database that a filter lets through, oldest first.
  private struct Rows {
    var rows: [ListRow] = []
    /// The number of reports before the filter.
    private(set) var total = 0
    private(set) var unreadable: UnreadableFiles

    /// False for a directory that only a handler has used, which has no reports yet.
    static func hasReports(_ path: String) throws -> Bool {
      ReportDatabase.waiting(in: path) == nil || InputFile.isDirectory(path + "/pending")
    }

    init(in path: String, _ filter: ReportFilter, _ arguments: Arguments) throws {
      unreadable = UnreadableFiles(of: path)
      var reports: [ListedReport] = []
      var uploading: ReportID?
      if try Self.hasReports(path) {
        let database = try ReportDatabase.open(path)
        // The report that is being sent is looked up before the reports are read. If the upload of that report ends
        // while the reports are read, the list shows the report's new state.
        do throws(CrashReportDatabaseError) {
          uploading = try UploaderClaim.reportBeingSent(in: database)
        } catch {
          unreadable.add(error)
        }
        let listing = try ListedReport.all(
          in: database, needsProcesses: arguments.has("--json") || filter.needsProcesses)
        listing.unreadable.forEach { unreadable.add($0) }
        reports = listing.reports
      }
      total = reports.count
      let dumps = arguments.has("--quiet") ? [] : ListRow.dumps(in: path, without: reports)
      let rows = ListRow.merged(
        reports.map { ListRow($0, isUploading: $0.stored.id == uploading) }, dumps)
      self.rows = rows.filter(filter.matches)
    }
  }
}

/// Selects rows by a word, `--since`, `--until`, `--program` and `--pid`.
struct ReportFilter {
  /// The path of the database.
  let path: String
  private let word: String?
  private let period: Period
  private let program: String?
  private let processID: UInt64?

  init(_ arguments: Arguments) throws {
    program = arguments["--program"]
    period = try arguments.period()
    processID = try arguments["--pid"].map { UInt64(try arguments.processID($0)) }
    if let first = arguments.operands.first, !first.isPath, arguments.namedDatabase == nil,
      InputFile.isDirectory(first)
    {
      throw arguments.noPath(first)
    }
    let (path, words) = try arguments.databaseAndWords(isReading: true)
    if let more = words.dropFirst().first { throw arguments.unexpected(more) }
    if words.first == "" { throw arguments.usage("an empty argument names no report") }
    self.path = path
    word = words.first
  }

  /// True for a filter that needs process IDs or executables; without such a filter, a table of reports is made without
  /// reading them.
  var needsProcesses: Bool { word != nil || program != nil || processID != nil }

  func matches(_ row: ListRow) -> Bool {
    period.contains(row.time)
      && (program.map { [row.facts?.program, row.executable].contains($0) } ?? true)
      && (processID.map { row.processID == $0 } ?? true)
      && (word.map { isMeant(row, by: $0) } ?? true)
  }

  /// True if a word is the row's program or process ID, or the beginning of its ID.
  private func isMeant(_ row: ListRow, by word: String) -> Bool {
    [row.facts?.program, row.executable].contains(word)
      || (row.processID != nil && UInt64(word) == row.processID)
      || (ReportDatabase.isBeginningOfID(word)
        && row.id.description.hasPrefix(word.lowercased()))
  }

  /// Prints how to name a directory if a word selected nothing, but a directory has its name.
  func remarkIfNone(_ count: Int, _ arguments: Arguments) {
    guard count == 0, let word, InputFile.isDirectory(word) else { return }
    arguments.warn(
      "no report of '\(word.escapedForMessage)'; to name the directory, use "
        + "\(("./" + word).quotedForShell)")
  }
}
