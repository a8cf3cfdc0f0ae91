internal import CrashReportDatabase

/// The subcommand `postmortem delete [DIR] ID...`.
enum DeleteCommand: Subcommand {
  static let name = "delete"
  static let summary = "delete reports with their metadata and attachments"
  static let help = """
    Deletes reports with their metadata and attachments.

    Usage: postmortem delete [DIR] ID... [--json]

    ID is a report ID as postmortem list prints it, or the beginning of one. POSTMORTEM_DATABASE in the
    environment stands for DIR. All IDs are looked at before anything is deleted.
    There is no way back.

      --json  print a JSON array of the deleted reports, as postmortem list does

    Exit status: 0 if all were there and are gone; 1 if one is unknown, and nothing was deleted.

    """

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(words, flags: ["--json"], operands: 1...Int.max, help: help)
    let (path, words) = try arguments.databaseAndReports(help: help)
    guard !words.isEmpty else { throw ToolError.usage("an ID is missing", help: help) }
    let database = try ReportDatabase.open(path)
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
          "report \(report.id) is being written; nothing was deleted (the first postmortem prune after "
            + "three days removes what a dead process left of it)")
      }
      if !reports.contains(where: { $0.id == report.id }) { reports.append(report) }
    }
    let deleted = try ListedReport.indexed(reports, in: database)
    let progress = ProgressLine("deleting reports:")
    for (index, report) in reports.enumerated() {
      try database.delete(report.id)
      progress.update(index + 1, of: reports.count)
    }
    if arguments.has("--json") { try ListCommand.print(deleted, asJSON: true) }
  }
}
