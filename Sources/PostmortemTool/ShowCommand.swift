internal import CrashReport
internal import CrashReportDatabase
internal import IntermediateDump
internal import ProcessSnapshot

/// The subcommand `postmortem show FILE|ID [--database DIR] [--symbols DIR] [--json]`.
enum ShowCommand: Subcommand {
  static let name = "show"
  static let summary = "show a report: what happened, where, and all stacks"
  static let help = """
    Shows a report: what happened, where, and the stacks of all threads.

    Usage: postmortem show FILE|ID [--database DIR] [--symbols DIR]... [--json] [--no-symbols]

    FILE is a minidump or an intermediate dump. ID is a report ID of the database DIR. Functions and
    lines come from the modules' files on this machine and their split debug files, if they are the
    same builds as in the dump; else those of the crashing thread from what was stored at conversion.

      --database DIR  where to look for ID
      --symbols DIR   look here too for files of the same builds: by build ID (.build-id/xx/yyyy.debug)
                      and by file name; may be given more than once
      --json          print the report as JSON (schema: Docs/Reports.md)
      --no-symbols    do not read the modules' files

    """

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(
      words, flags: ["--json", "--no-symbols"], options: ["--database", "--symbols"],
      operands: 1...1, help: help)
    let path = try file(arguments.operands[0], database: arguments["--database"])
    let snapshot = try DumpFile.snapshot(at: path)
    let folders = arguments.values(of: "--symbols")
    for folder in folders where !InputFile.isFolder(folder) {
      throw ToolError(path: folder, "no such folder")
    }
    let report = CrashReport(
      snapshot: snapshot, symbolicating: !arguments.has("--no-symbols"), symbolFolders: folders)
    if arguments.has("--json") { return Terminal.print(try JSON.text(of: report)) }
    Terminal.print(
      TextReport.text(of: report, width: Terminal.width, color: Terminal.usesColor))
  }

  /// The file that an operand means: a report ID if a database is given, else a path.
  private static func file(_ operand: String, database: String?) throws -> String {
    guard let database else {
      if ReportID(operand) != nil, !InputFile.exists(operand) {
        throw UsageError("a report ID needs --database DIR", help: help)
      }
      return operand
    }
    guard let id = ReportID(operand) else {
      throw UsageError("'\(operand.escapedForMessage)' is not a report ID", help: help)
    }
    guard let report = try Database.open(database).report(id) else {
      throw ToolError(path: database, "no report \(id)")
    }
    return report.path
  }
}
