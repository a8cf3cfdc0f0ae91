internal import CrashReport
internal import CrashReportDatabase
internal import Foundation
internal import IntermediateDump

/// The subcommand `postmortem list DIR [--json]`.
enum ListCommand: Subcommand {
  static let name = "list"
  static let summary = "list the reports of a database, oldest first"
  static let help = """
    Lists the reports of a database, oldest first.

    Usage: postmortem list DIR [--json]

    Prints for each report its ID, state (new, pending or completed), time and size in bytes;
    of one on a run that left no dump, how that ended. Dumps that are not processed yet are no reports:
    see postmortem process.

      --json  print a JSON array of objects with id, state, creationTime, size, path and, for such a
              run, end

    """

  /// One element of the JSON.
  struct Entry: Codable {
    let id: String
    let state: String
    let creationTime: Timestamp
    /// In bytes.
    let size: Int64
    let path: String
    /// How the run ended, for a report of one that left no dump.
    let end: String?
  }

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(words, flags: ["--json"], operands: 1...1, help: help)
    try print(
      try Database.open(arguments.operands[0]).reports(), asJSON: arguments.has("--json"))
  }

  /// Prints reports, as prune does too.
  static func print(_ reports: [StoredReport], asJSON: Bool) throws {
    let entries = reports.map { report in
      let (nanoseconds, overflow) = report.creationTime.multipliedReportingOverflow(
        by: 1_000_000_000)
      return Entry(
        id: report.id.description, state: report.state.rawValue,
        creationTime: Timestamp(nanoseconds: overflow ? 0 : nanoseconds), size: report.size,
        path: report.path, end: report.endKind)
    }
    if asJSON { return Terminal.print(try JSON.text(of: entries)) }
    for entry in entries {
      let state = entry.state.padding(toLength: 9, withPad: " ", startingAt: 0)
      let time = entry.creationTime.description.prefix(19).replacing("T", with: " ")
      Terminal.print(
        "\(entry.id)  \(state)  \(time) UTC  \(entry.size)\(entry.end.map { "  end: \($0)" } ?? "")\n"
      )
    }
  }
}
