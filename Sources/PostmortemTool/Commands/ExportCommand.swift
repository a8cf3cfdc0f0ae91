internal import CrashAnalysis
internal import CrashReport
internal import CrashReportDatabase
internal import Glibc
internal import IntermediateDump

/// The subcommand `postmortem export`.
enum ExportCommand: Subcommand {
  static let name = "export"
  static let summary = "print a line of facts for each report, for other programs"
  static let usage = ["[OPTION...] [-d DIR]...", "[OPTION...] DIR/..."]
  static let discussion = """
    Prints one line of facts for each report of one or more databases, for queries with other programs.

    Each line is a JSON object with all columns of Docs/Reference/Export.md: time, host, program, version, build ID, \
    kind, signal, code, cause, message, signature, own frames, annotations, memory, uptime and others. A value that \
    is not known is null. The lines are in no particular order. A report that is in two directories is printed once.

    The facts come from the file reports.index of the database. A report that is missing there is read once, in a \
    separate process, and added. A report that cannot be read has a line of the kind unreadable, and an error \
    message on standard error.
    """
  static let options: [CommandOption] = [
    CommandOption(
      "-d, --database", value: "DIR", completing: .directory,
      "a database; may be given more than once (default: as for postmortem list)"),
    .since, .until,
    CommandOption(
      "--format", value: "FORMAT", completing: .words(["ndjson", "otlp"]),
      "ndjson (default), or otlp: each line is a request with one log record, for OpenTelemetry collectors"
    ),
    .json("the same as --format ndjson; errors are JSON too"),
  ]
  static let operands = Operands(0...10_000, "DIR", completing: .directory)
  static let closing = """
    Exit status: 0; 1 if a report could not be read (only its facts are missing), or if standard output could not be \
    written.
    """

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(words, of: self)
    let format = arguments["--format"] ?? "ndjson"
    guard format == "ndjson" || (format == "otlp" && !arguments.has("--json")) else {
      throw arguments.usage("--format must be ndjson or otlp, and --json means ndjson")
    }
    var walk = ReportWalk(try arguments.databases(), in: try arguments.period())
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

/// Writes the export to standard output in large pieces.
struct ExportOutput {
  var json = JSONWriter()

  mutating func flush(above size: Int) throws(ToolError) {
    guard json.bytes.count > size else { return }
    try StandardOutput.write(json.bytes[...])
    json.removeAll()
  }
}
