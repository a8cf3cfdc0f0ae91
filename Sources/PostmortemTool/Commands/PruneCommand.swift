internal import CrashReportDatabase

/// The subcommand `postmortem prune`.
enum PruneCommand: Subcommand {
  static let name = "prune"
  static let summary = "delete reports that are too old or take too much space"
  static let usage = ["[OPTION...] [DIR/]"]
  static let discussion = """
    Deletes the reports that are too old. If all of them take more than --size, or more than a quarter of their file \
    system, deletes reports that have a newer one of the same program and signature, then others, the oldest first. \
    Deletes dumps that take more than 128 MiB or a quarter of the file system, as each start of a program with a \
    handler does.

    Prints a line for each deleted report. Reports that wait to be uploaded are deleted too. Remains of dead \
    processes (half-written reports, metadata without a report) are deleted after three days. The same happens, with \
    the default limits, whenever dumps are processed. Dumps in DIR/quarantine are kept: examine them, and delete \
    them yourself.
    """
  static let options: [CommandOption] = [
    .database,
    CommandOption(
      "--age", value: "AGE", completing: .words(["7d", "2weeks", "30d"]),
      "delete reports older than AGE: 7d, 12h, 2weeks; a number without a unit is days (default: 365d)"
    ),
    CommandOption(
      "--size", value: "SIZE", completing: .words(["100M", "1G"]),
      "keep reports up to this total size, and always the newest one: 500M, 1G; a number without a "
        + "unit is MiB (default: 128M)"),
    CommandOption("--dry-run", "delete nothing; print the reports that would be deleted"),
    .quiet,
    .json("print a JSON array of the reports, as postmortem list does"),
  ]
  static let operands = Operands.database
  static let closing = """
    Exit status: 0; 2 if a file of the database could not be read or deleted. An error message names it, and the \
    command deletes the other reports.
    """

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(words, of: self)
    let condition = try condition(arguments)
    let path = try arguments.database()
    let isDry = arguments.has("--dry-run")
    // Dumps first: a volume that they fill has no room for the directories of reports.
    if !isDry { ReportDatabase.boundDumps(in: try ReportDatabase.place(path)) }
    let database =
      try isDry
      ? ReportDatabase.open(path) : ReportDatabase.openForSettings(path, creating: false)
    var unreadable = UnreadableFiles(of: path)
    let deleted = try ListedReport.indexed(
      isDry
        ? database.excess(condition) { unreadable.add($0) }
        : database.prune(condition) { unreadable.add($0) },
      in: database)
    try ReportOutput(try arguments.usesColor(), arguments).print(deleted)
    try arguments.remark(
      (isDry ? "Would delete " : "Deleted ") + ReportTable.reports(deleted.count) + "; "
        + ReportTable.reports(
          try database.listing().reports.count { $0.state != .new } - (isDry ? deleted.count : 0))
        + " left.")
    try unreadable.check()
  }

  private static func condition(_ arguments: Arguments) throws(ToolError) -> PruneCondition {
    var condition = PruneCondition()
    if let text = arguments["--age"] {
      let days = Int64(text).flatMap { (0...1_000_000).contains($0) ? $0 * 86_400 : nil }
      guard let seconds = days ?? Age(text)?.seconds else {
        throw arguments.usage(
          "--age needs an age (7d, 12h, 2weeks) or a number of days, not '\(text.escapedForMessage)'"
        )
      }
      condition.maximumAge = .seconds(seconds)
    }
    if let text = arguments["--size"] {
      let mebibytes = Int64(text).flatMap { (0...1_000_000_000).contains($0) ? $0 << 20 : nil }
      guard let size = mebibytes ?? ByteCount.bytes(text) else {
        throw arguments.usage(
          "--size needs a size (500M, 1G) or a number of MiB, not '\(text.escapedForMessage)'")
      }
      condition.maximumSize = size
    }
    return condition
  }
}
