internal import CrashReport
internal import CrashReportDatabase
internal import Foundation
internal import IntermediateDump

/// The subcommand `postmortem export [DIR]...`.
enum ExportCommand: Subcommand {
  static let name = "export"
  static let summary = "print a line of facts for each report, for databases and collectors"
  static let help = """
    Prints one line for each report of some databases, for queries with other programs.

    Usage: postmortem export [DIR]... [--since WHEN] [--format ndjson|otlp] [--json]

    Each line is a JSON object with all columns of Docs/Export.md: time, host, program, version, build
    ID, kind, signal, code, cause, message, signature, own frames, annotations, memory, uptime and others;
    null for what is not known. The lines are in no order. A report that two directories have is printed
    once. POSTMORTEM_DATABASE in the environment stands for DIR.

    Reports that the file reports.index of the database lacks are read once, in a process of its own, and
    added to it. A report that cannot be read has a line of the kind unreadable, and a message on
    standard error.

      --since WHEN     leave out crashes before an age (90m, 12h, 7d) or a date in UTC (2026-11-22,
                       2026-11-22T21:05)
      --format FORMAT  ndjson, which is the default, or otlp: each line is a request with one log
                       record for OpenTelemetry collectors
      --json           the same as --format ndjson; errors are JSON too

    Exit status: 0; 1 if a report could not be read, which leaves out its facts only, or if standard
    output could not be written.

    """

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(
      words, flags: ["--json"], options: ["--format", "--since"], operands: 0...10_000, help: help)
    let format = arguments["--format"] ?? "ndjson"
    guard format == "ndjson" || (format == "otlp" && !arguments.has("--json")) else {
      throw ToolError.usage("--format is ndjson or otlp, and --json is ndjson", help: help)
    }
    var walk = ReportWalk(
      try arguments.databases(help: help), since: try arguments.since(help: help))
    var output = ExportOutput()
    try walk.forEach { report in
      if format == "otlp" {
        OTLPLine.add(report, to: &output.json)
      } else {
        ExportColumn.addLine(report, to: &output.json)
      }
      try output.flush(above: 1 << 18)
    }
    try output.flush(above: 0)
    if walk.failureCount > 0 { throw ToolError.printed }
  }
}

/// Standard output in large pieces; unlike text for people, an export that is cut off is an error.
struct ExportOutput {
  var json = JSONWriter()

  mutating func flush(above size: Int) throws(ToolError) {
    guard json.bytes.count > size else { return }
    guard Terminal.write(json.bytes[...], to: 1) else {
      throw ToolError("standard output: " + ToolError.text(errno))
    }
    json.removeAll()
  }
}

extension Arguments {
  /// The databases of a command that takes several: its operands, or `POSTMORTEM_DATABASE`.
  func databases(help: String) throws(ToolError) -> [String] {
    operands.isEmpty ? [try database(help: help)] : operands
  }

  /// The moment that `--since` gives; nil without it.
  func since(help: String) throws(ToolError) -> Timestamp? {
    guard let text = self["--since"] else { return nil }
    let now = Timestamp(seconds: Int64(time(nil)))
    guard let since = Timestamp(option: text, now: now) else {
      throw ToolError.usage(
        "'\(text.escapedForMessage)' is neither an age (90m, 12h, 7d) nor a date (2026-11-22, "
          + "2026-11-22T21:05)", help: help)
    }
    return since
  }
}
