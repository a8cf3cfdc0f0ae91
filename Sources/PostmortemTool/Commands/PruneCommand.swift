internal import CrashReportDatabase

/// The subcommand `postmortem prune DIR`.
enum PruneCommand: Subcommand {
  static let name = "prune"
  static let summary = "remove the reports that are too old, or too many bytes"
  static let help = """
    Removes the reports that are too old, and the oldest of those that are too many bytes.

    Usage: postmortem prune DIR [--age DAYS] [--size MIB] [--dry-run] [--json]

    Prints a line for each removed report. Reports that wait for their upload are removed too. Remains
    of dead processes (half-written reports, metadata alone) are removed after three days. The same
    happens, with the defaults, whenever dumps are processed. Dumps in DIR/quarantine stay: look at
    them, and remove them by hand.

      --age DAYS  keep reports for so long; 365 if not given
      --size MIB  keep so much, the newest first, and always the newest one; 128 if not given
      --dry-run   remove nothing, print the reports that would go
      --json      print a JSON array of the reports, as postmortem list does

    """

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(
      words, flags: ["--dry-run", "--json"], options: ["--age", "--size"], operands: 1...1,
      help: help)
    var condition = PruneCondition()
    if let days = try arguments.integer("--age", in: 0...1_000_000, help: help) {
      condition.maximumAge = .seconds(days * 86_400)
    }
    if let size = try arguments.integer("--size", in: 0...1_000_000_000, help: help) {
      condition.maximumSize = Int64(size) << 20
    }
    let database = try ReportDatabase.open(arguments.operands[0])
    let reports =
      arguments.has("--dry-run")
      ? try database.excess(condition) : try database.prune(condition)
    try ListCommand.print(
      try ListedReport.indexed(reports, in: database), asJSON: arguments.has("--json"))
  }
}
