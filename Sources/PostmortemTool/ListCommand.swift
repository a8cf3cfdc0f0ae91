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

    Prints for each report its ID, state (new, pending or completed), time and size in bytes, and behind
    these what is known of its upload: uploading; uploaded, and the server's ID; skipped, and why; when
    it is tried next, and why it did not go. Dumps that are not processed yet are no reports: see
    postmortem process.

      --json  print a JSON array of objects with id, state, creationTime, size, path and upload, which
              has state (pending, uploading, uploaded, skipped), attempts, lastAttempt, nextAttempt,
              requested, serverID and note

    """

  /// One element of the JSON.
  struct Entry: Codable {
    let id: String
    let state: String
    let creationTime: Timestamp
    /// In bytes.
    let size: Int64
    let path: String
    let upload: UploadEntry
  }

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(words, flags: ["--json"], operands: 1...1, help: help)
    let database = try Database.open(arguments.operands[0])
    // First: a report that is sent while the others are read is listed as what it then was.
    let uploading = try UploaderClaim.reportBeingSent(in: database)
    try print(try database.reports(), uploading: uploading, asJSON: arguments.has("--json"))
  }

  /// Prints reports, as prune does too.
  static func print(
    _ reports: [StoredReport], uploading: ReportID? = nil, asJSON: Bool
  ) throws {
    let entries = reports.map { report in
      Entry(
        id: report.id.description, state: report.state.rawValue,
        creationTime: Timestamp(seconds: report.creationTime), size: report.size,
        path: report.path, upload: UploadEntry(report, isUploading: report.id == uploading))
    }
    if asJSON { return Terminal.print(try JSON.text(of: entries)) }
    for entry in entries {
      let state = entry.state.padding(toLength: 9, withPad: " ", startingAt: 0)
      let time = entry.creationTime.description.prefix(19).replacing("T", with: " ")
      Terminal.print("\(entry.id)  \(state)  \(time) UTC  \(entry.size)\(entry.upload.text)\n")
    }
  }
}
