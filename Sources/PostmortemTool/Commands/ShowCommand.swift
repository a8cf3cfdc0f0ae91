internal import CrashReport
internal import CrashReportDatabase
internal import Foundation
internal import IntermediateDump
internal import ProcessSnapshot

/// The subcommand `postmortem show FILE|ID|- [--database DIR] [--symbols DIR] [--html|--json|--text]`.
enum ShowCommand: Subcommand {
  static let name = "show"
  static let summary = "show a report: the cause, the place, and all stacks"
  static let help = """
    Shows a report: the cause, the place, and the stacks of all threads.

    Usage: postmortem show FILE|ID|- [--database DIR] [--symbols DIR]... [--html|--json|--text]
                           [-o FILE] [--no-symbols]

    FILE is a minidump of any writer or an intermediate dump, - standard input with one of these. ID is
    a report ID of the database DIR. Functions and lines come from the modules' files on this machine
    and their split debug files, if they are the same builds as in the dump; else those of the crashing
    thread from what was stored at conversion.

      --database DIR  where to look for ID
      --symbols DIR   look here too for files of the same builds: by build ID (.build-id/xx/yyyy.debug)
                      and by file name; may be given more than once
      --text          print the report as text, which is the default: in colour on a terminal unless
                      NO_COLOR is set, and as wide as it is
      --json          print the report as JSON (schema: Docs/ReportSchema.json)
      --html          print the report as one HTML page that needs nothing else
      -o FILE         write it to FILE, which is replaced if it is there
      --no-symbols    do not read the modules' files

    """

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(
      words, flags: ["--html", "--json", "--no-symbols", "--text"],
      options: ["--database", "--symbols", "-o"], operands: 1...1, help: help)
    guard ["--html", "--json", "--text"].count(where: arguments.has) <= 1 else {
      throw ToolError.usage("only one of --html, --json and --text can be given", help: help)
    }
    let snapshot = try snapshot(arguments.operands[0], database: arguments["--database"])
    let directories = arguments.values(of: "--symbols")
    for directory in directories { try InputFile.requireDirectory(directory) }
    let report = CrashReport(
      snapshot: snapshot, symbolicating: !arguments.has("--no-symbols"),
      symbolDirectories: directories)
    let output = try text(of: report, arguments)
    guard let path = arguments["-o"] else { return Terminal.print(output) }
    do {
      try Data(output.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
    } catch {
      throw ToolError(path: path, error.localizedDescription)
    }
  }

  private static func text(of report: CrashReport, _ arguments: Arguments) throws -> String {
    if arguments.has("--json") { return try JSON.text(of: report) }
    if arguments.has("--html") { return HTMLReport.text(of: report) }
    let isFile = arguments["-o"] != nil
    return TextReport.text(
      of: report, width: isFile ? Terminal.widthOfFiles : Terminal.width,
      color: !isFile && Terminal.usesColor)
  }

  private static func snapshot(_ operand: String, database: String?) throws -> ProcessSnapshot {
    guard operand == "-", database == nil else {
      return try CrashFile.snapshot(at: file(operand, database: database))
    }
    return try CrashFile.snapshot(of: InputFile.standardInput(), named: "standard input")
  }

  /// The file of an operand: a report ID if a database is given, else a path.
  private static func file(_ operand: String, database: String?) throws -> String {
    guard let database else {
      if ReportID(operand) != nil, !InputFile.exists(operand) {
        throw ToolError.usage("a report ID needs --database DIR", help: help)
      }
      return operand
    }
    guard let id = ReportID(operand) else {
      throw ToolError.usage("'\(operand.escapedForMessage)' is not a report ID", help: help)
    }
    guard let report = try ReportDatabase.open(database).report(id) else {
      throw ToolError(path: database, "no report \(id)")
    }
    return report.path
  }
}
