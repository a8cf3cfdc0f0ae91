internal import CrashReportDatabase
internal import Glibc

/// The subcommand `postmortem delete ID...`.
enum DeleteCommand: Subcommand {
  static let name = "delete"
  static let aliases = ["rm"]
  static let summary = "delete reports, with metadata and attachments"
  static let usage = ["[OPTION...] ID...", "[OPTION...] DIR/ ID..."]
  static let discussion = """
    Deletes reports with their metadata and attachments.

    ID is a report ID as postmortem list prints it, or the beginning of one. On a terminal, the command lists the \
    reports and asks for confirmation. It looks up all IDs before it deletes anything. Deleted reports cannot be \
    restored. To delete by age or size, use postmortem prune.
    """
  static let options: [CommandOption] = [
    .database, .yes,
    CommandOption("--dry-run", "delete nothing; print the reports that would be deleted"),
    .quiet,
    .json(
      "print a JSON array of the deleted reports, as postmortem list does, and do not ask for confirmation"
    ),
  ]
  static let operands = Operands(1...Int.max, "ID", completing: .report)
  static let closing = """
    Exit status: 0 if all reports existed and were deleted; 1 if an ID is unknown or you answered no, in which case \
    nothing was deleted.
    """

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(words, of: self)
    let (path, words) = try arguments.databaseAndWords()
    guard !words.isEmpty else { throw arguments.usage("missing argument: ID") }
    let database = try ReportDatabase.open(path)
    let reports = try reports(words, database, path, arguments)
    let listed = try ListedReport.indexed(reports, in: database)
    let output = ReportOutput(try arguments.usesColor(), arguments)
    if arguments.has("--dry-run") {
      try output.print(listed)
      return arguments.remark("Nothing was deleted.")
    }
    if !arguments.has("--yes"), !arguments.has("--json"), Terminal.canAsk {
      try output.print(listed)
      guard
        Terminal.ask(
          "Delete \(reports.count == 1 ? "this report" : "these \(reports.count) reports")?")
      else {
        throw ToolError("nothing was deleted")
      }
    }
    let progress = ProgressLine("deleting reports:", isQuiet: arguments.has("--quiet"))
    for (index, report) in reports.enumerated() {
      try database.delete(report.id)
      progress.update(index + 1, of: reports.count)
    }
    if arguments.has("--json") { try output.print(listed) }
    arguments.remark("Deleted \(ReportTable.reports(reports.count)).")
  }

  private static func reports(
    _ words: ArraySlice<String>, _ database: CrashReportDatabase, _ path: String,
    _ arguments: Arguments
  ) throws -> [StoredReport] {
    var reports: [StoredReport] = []
    for word in words {
      let report: StoredReport
      do {
        report = try ReportDatabase.report(word, in: database, at: path, help: help)
      } catch let error as ToolError {
        throw error.adding("; nothing was deleted")
      }
      guard report.state != .new else {
        throw ToolError(
          path: path,
          "report \(report.id) is being written; nothing was deleted (if its process has died, postmortem "
            + "prune deletes the remains after three days)")
      }
      if !reports.contains(where: { $0.id == report.id }) { reports.append(report) }
    }
    return reports
  }
}
