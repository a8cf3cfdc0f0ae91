internal import CrashConverter
internal import CrashReportDatabase
internal import IntermediateDump

/// The subcommand `postmortem process`.
enum ProcessCommand: Subcommand {
  static let name = "process"
  static let summary = "convert the waiting dumps of a database to reports"
  static let usage = ["[OPTION...] [DIR/]"]
  static let discussion = """
    Converts the dumps that crashed processes left in a database to reports, without a restart of the program.

    Prints one line for each dump. A dump that fails is kept and tried again next time. It is moved to \
    DIR/quarantine after the third failure, or on the third attempt if the attempt before ended this command. A \
    program does the same for itself with processIntermediateDumps(); this command is for programs that do not, or \
    have not yet. Afterwards the command deletes excess reports: see postmortem prune.

    A dump that may be in use is left for a later call, and its line shows why and until when: the process that \
    writes it is alive, nothing shows that the process has exited, or another converter is working on the dump. If \
    root runs the command on a directory of another user, the command uses that user's file permissions.
    """
  static let options: [CommandOption] = [
    .database, .create,
    CommandOption(
      "--cores", value: "DIR", completing: .directory,
      "also create a report of each core file in DIR that has none yet; the core files are kept; may be given "
        + "more than once"),
    .spool,
    .symbols, .sanitize, .noMemory, .quiet,
    .json(
      "print a JSON array of objects with reportID, file, outcome (complete, torn, ended, failed, quarantined or "
        + "left), reason and until"),
  ]
  static let operands = Operands.database
  static let closing = """
    --sanitize and --no-memory apply to the reports that the command creates. Until then, the dumps contain \
    everything, unless their handler left it out (HandlerOptions.privacy).

    Exit status: 0 if every dump became a report, or there was no dump; 1 if a dump failed; 2 if no dump failed, but \
    some were left for later.
    """

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(words, of: self)
    let path = try ReportDatabase.place(
      arguments.database(), creating: arguments.has("--create"))
    let progress = ProgressLine("processing dumps:", isQuiet: arguments.has("--quiet"))
    var processed = try processIntermediateDumps(
      database: path, after: nil, symbolDirectories: arguments.symbolDirectories(),
      privacy: arguments.privacy, progress: progress.update)
    var unreadable = 0
    for directory in arguments.values(of: "--cores") {
      let cores = try CoreReports.make(
        of: directory, in: path, arguments, progress: progress.update)
      processed += cores.processed
      unreadable += cores.failures
    }
    progress.clear()
    let entries = processed.map(ProcessedEntry.init)
    if arguments.has("--json") {
      try StandardOutput.print(JSON.text(of: entries))
    } else if Terminal.isOutput, !arguments.has("--quiet") {
      try printTable(of: processed, path)
    } else {
      for dump in processed { try StandardOutput.print(dump.line(database: path) + "\n") }
    }
    if processed.isEmpty { try arguments.remark("No dumps are waiting; \(counts(of: path)).") }
    guard unreadable == 0 else {
      throw ToolError("\(unreadable) core files could not be read")
    }
    let failures = entries.count(where: \.isFailure)
    guard failures == 0 else {
      throw ToolError(path: path, "\(failures) of \(processed.count) dumps could not be processed")
    }
    let left = entries.count(where: \.isLeft)
    guard left == 0 else {
      throw ToolError(
        path: path, "\(left) of \(processed.count) dumps were left for later", exitStatus: 2)
    }
  }

  /// Prints the new reports as a table, followed by the outcomes of the other dumps.
  private static func printTable(of processed: [ProcessedDump], _ path: String) throws(ToolError) {
    let made = processed.filter { [.complete, .torn, .ended].contains($0.outcome.kind) }
    let table = ReportTable(
      width: Terminal.width, usesColor: Terminal.usesColor, now: .now)
    try StandardOutput.print(table.text(of: made))
    for dump in processed where !made.contains(dump) {
      try StandardOutput.print(dump.description + "\n")
    }
    guard let last = made.last else { return }
    try StandardOutput.print(
      "\(ReportTable.reports(made.count)) created; read \(made.count == 1 ? "it" : "the last") with: "
        + "postmortem show\(path.asDatabaseOperand) \(last.reportID.description.prefix(8))\n")
  }

  /// The number of reports, with the command that lists them, such as "8 reports: postmortem list".
  private static func counts(of path: String) throws -> String {
    let count = try CrashReportDatabase(path: path).unorderedReports().count { $0.state != .new }
    let next = count == 0 ? "" : ": postmortem list\(path.asDatabaseOperand)"
    return ReportTable.reports(count) + next
  }
}
