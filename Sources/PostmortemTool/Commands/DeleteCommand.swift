internal import CrashReportDatabase
internal import IntermediateDump

/// The subcommand `postmortem delete [DIR] ID...`.
enum DeleteCommand: Subcommand {
  static let name = "delete"
  static let summary = "delete reports with their metadata and attachments"
  static let help = """
    Deletes reports with their metadata and attachments.

    Usage: postmortem delete [DIR] ID...

    ID is a report ID as postmortem list prints it, or the beginning of one. POSTMORTEM_DATABASE in the
    environment stands for DIR. All IDs are looked at before anything is deleted.
    There is no way back.

    Exit status: 0 if all were there and are gone; 1 if one is unknown, and nothing was deleted.

    """

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(words, operands: 1...Int.max, help: help)
    let (path, words) = try arguments.databaseAndReports(help: help)
    guard !words.isEmpty else { throw ToolError.usage("an ID is missing", help: help) }
    let database = try ReportDatabase.open(path)
    var ids: [ReportID] = []
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
      if !ids.contains(report.id) { ids.append(report.id) }
    }
    let progress = ProgressLine("deleting reports:")
    for (index, id) in ids.enumerated() {
      try database.delete(id)
      progress.update(index + 1, of: ids.count)
    }
  }
}
