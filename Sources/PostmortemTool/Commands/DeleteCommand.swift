internal import CrashReportDatabase
internal import IntermediateDump

/// The subcommand `postmortem delete DIR ID...`.
enum DeleteCommand: Subcommand {
  static let name = "delete"
  static let summary = "delete reports with their metadata and attachments"
  static let help = """
    Deletes reports with their metadata and attachments.

    Usage: postmortem delete DIR ID...

    ID is a report ID as postmortem list prints it. All IDs are looked at before anything is deleted.
    There is no way back.

    Exit status: 0 if all were there and are gone; 1 if one is unknown, and nothing was deleted.

    """

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(words, operands: 2...Int.max, help: help)
    let path = arguments.operands[0]
    var ids: [ReportID] = []
    for word in arguments.operands.dropFirst() {
      guard let id = ReportID(word) else {
        throw ToolError.usage("'\(word.escapedForMessage)' is not a report ID", help: help)
      }
      if !ids.contains(id) { ids.append(id) }
    }
    let database = try ReportDatabase.open(path)
    for id in ids {
      switch try database.report(id)?.state {
      case nil:
        throw ToolError(path: path, "no report \(id); nothing was deleted (see postmortem list)")
      case .new:
        throw ToolError(
          path: path,
          "report \(id) is being written; nothing was deleted (the first postmortem prune after three "
            + "days removes what a dead process left of it)")
      case .pending, .completed: break
      }
    }
    let progress = ProgressLine("deleting reports:")
    for (index, id) in ids.enumerated() {
      try database.delete(id)
      progress.update(index + 1, of: ids.count)
    }
  }
}
