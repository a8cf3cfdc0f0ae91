internal import CrashReport
internal import CrashReportDatabase
internal import Glibc
internal import IntermediateDump

/// The subcommand `postmortem list [--group] [--json]`.
enum ListCommand: Subcommand {
  static let name = "list"
  static let aliases = ["ls"]
  static let summary = "list the reports of a database, newest last"
  static let usage = ["[OPTION...] [DIR/]", "--group [OPTION...] [DIR/]"]
  static let discussion = """
    Lists the reports of a database, oldest crash first.

    On a terminal, prints a table that fits its width: the beginning of the ID, age, program, crash and location. \
    The last line counts reports, waiting dumps and uploads. To a pipe or file, prints a line for each report, with \
    two spaces between columns: ID; state (new, pending or completed); time in UTC; signal; program and version; \
    cause; location; and the state of the upload, if any: uploading; uploaded, and the server's ID; skipped, and \
    why; the time of the next attempt, and why the last one failed; "time old" for a crash more than 30 days ago, \
    "time doubtful" if the clock was wrong: the time is in the future, after the report's creation or before 2020. "-" means that a value is not known. More lines \
    count the dumps that wait to be processed (see postmortem process), and those that could not be processed and \
    are in quarantine.

    With --group, groups the crashes of one program with one signature (Docs/Reference/Signatures.md), most frequent \
    first. Each group has its count, its first and last time, and its versions.

    The facts of a report are determined when it is created, and stored in the file reports.index of the database. A \
    report that is missing there is read once, in a separate process, with names as postmortem show finds them. The \
    file can be deleted.
    """
  static let options: [CommandOption] = [
    .database,
    CommandOption("-n, --limit", value: "COUNT", "print only the newest COUNT reports"),
    CommandOption("-r, --reverse", "print the newest report first"),
    .since, .until, .program, .processID,
    CommandOption("--group", "print groups of crashes instead of reports"),
    CommandOption(
      "--symbols", value: "DIR", completing: .directory,
      "with --group, as for postmortem show; reads every report again"),
    CommandOption("-q, --quiet", "print only IDs, without a table, counts or remarks"),
    .color,
    .json(
      "print a JSON array of objects with reportID, state, creationTime, size, path; time, timeMark (old or doubtful), program, version, pid, "
        + "signal, cause, message, place and signature, if known; end, for a run that left no dump; and upload, "
        + "with state (pending, uploading, uploaded, skipped), attempts, lastAttempt, nextAttempt, requested, "
        + "serverID and note. Groups have signature, program, count, first, last, versions and reportIDs"
    ),
  ]
  static let operands = Operands.database
  static let closing = """
    Exit status: 0; 1 if --group could not read a report (only that report is left out); 2 if a file of the database \
    could not be read (an error message names it).
    """

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(words, of: self)
    let symbolDirectories = arguments.values(of: "--symbols")
    let isGrouped = arguments.has("--group")
    guard isGrouped || symbolDirectories.isEmpty else {
      throw arguments.usage("--symbols needs --group")
    }
    let isReversed = arguments.has("--reverse")
    guard !isGrouped || (arguments["--limit"] == nil && !isReversed) else {
      throw arguments.usage("-n and --reverse cannot be used with --group")
    }
    let filter = try ReportFilter(arguments)
    let count = try arguments.integer("--limit", in: 0...1_000_000_000)
    let output = ReportOutput(try arguments.usesColor(), arguments)
    let path = try ReportDatabase.place(arguments.database())
    let rest = DatabaseRest(of: path)
    // A directory that only a handler has used has no reports yet. `open` would reject it, so an empty list is
    // printed.
    guard ReportDatabase.waiting(in: path) == nil || InputFile.isDirectory(path + "/pending") else {
      return try output.print([], of: (0, rest))
    }
    let database = try ReportDatabase.open(path)
    var unreadable = UnreadableFiles(of: path)
    // The report that is being sent is looked up before the reports are read. If the upload of that report ends while
    // the reports are read, the list shows the report's new state.
    let uploading = reportBeingSent(in: database, &unreadable)
    var (reports, failures, refused) = try ListedReport.all(
      in: database, symbolDirectories: symbolDirectories,
      needsProcesses: arguments.has("--json") || filter.needsProcesses)
    refused.forEach { unreadable.add($0) }
    let total = reports.count
    reports.removeAll { !filter.matches($0) }
    guard !isGrouped else {
      try output.print(groupsOf: reports, failures)
      guard failures.isEmpty else { throw unreadable.printed }
      return try unreadable.check()
    }
    if let count { reports.removeFirst(max(0, reports.count - count)) }
    if isReversed { reports.reverse() }
    try output.print(reports, of: (total, rest), uploading: uploading)
    try unreadable.check()
  }

  private static func reportBeingSent(
    in database: CrashReportDatabase, _ unreadable: inout UnreadableFiles
  ) -> ReportID? {
    do throws(CrashReportDatabaseError) {
      return try UploaderClaim.reportBeingSent(in: database)
    } catch {
      unreadable.add(error)
      return nil
    }
  }
}

/// Selects reports by `--since`, `--until`, `--program` and `--pid`.
struct ReportFilter {
  private let period: Period
  private let program: String?
  private let processID: UInt64?

  init(_ arguments: Arguments) throws {
    program = arguments["--program"]
    period = try arguments.period()
    processID = try arguments["--pid"].map { UInt64(try arguments.processID($0)) }
  }

  /// True for a filter that needs process IDs or executables; without such a filter, a table of reports is made without
  /// reading them.
  var needsProcesses: Bool { program != nil || processID != nil }

  func matches(_ report: ListedReport) -> Bool {
    period.contains(report.time)
      && (program.map { [report.facts?.program, report.executable].contains($0) } ?? true)
      && (processID.map { report.processID == $0 } ?? true)
  }
}
