internal import CrashReport
internal import CrashReportDatabase
internal import Foundation
internal import IntermediateDump

/// The subcommand `postmortem list DIR [--group] [--json]`.
enum ListCommand: Subcommand {
  static let name = "list"
  static let summary = "list the reports of a database, oldest first"
  static let help = """
    Lists the reports of a database, oldest first.

    Usage: postmortem list DIR [--json]
           postmortem list DIR --group [--symbols DIR]... [--json]

    Prints for each report its ID, state (new, pending or completed), time and size in bytes, and behind
    these the state of its upload: uploading; uploaded, and the server's ID; skipped, and why; the time
    of the next attempt, and why the last one failed. For a report on a run that left no dump it prints
    how that ended. Dumps that are not processed yet are no reports: see postmortem process.

    With --group, puts crashes of one program and one signature (Docs/Signatures.md) together, the most
    frequent first: how many, when first and last, in which versions. It reads every dump for that, in a
    process of its own, and takes names as postmortem show does.

      --group        print groups of crashes and not reports
      --symbols DIR  with --group, as for postmortem show
      --json         print a JSON array of objects with id, state, creationTime, size, path; end, for a
                     run that left no dump; and upload, which has state (pending, uploading, uploaded,
                     skipped), attempts, lastAttempt, nextAttempt, requested, serverID and note. Of
                     groups with signature, program, count, first, last, versions and reports (IDs)

    Exit status: 0; 1 if --group could not read a report, which leaves out that one only.

    """

  /// One element of the JSON.
  struct Entry: Codable {
    let id: String
    let state: String
    let creationTime: Timestamp
    /// In bytes.
    let size: Int64
    let path: String
    /// The way in which a run ended that left no dump.
    let end: String?
    let upload: UploadEntry
  }

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(
      words, flags: ["--group", "--json"], options: ["--symbols"], operands: 1...1, help: help)
    let database = try ReportDatabase.open(arguments.operands[0])
    guard !arguments.has("--group") else {
      return try printGroups(of: try database.reports(), arguments)
    }
    guard arguments["--symbols"] == nil else {
      throw ToolError.usage("--symbols goes with --group", help: help)
    }
    // First: a report that is sent while the others are read is listed in the state it then had.
    let uploading = try UploaderClaim.reportBeingSent(in: database)
    try print(try database.reports(), uploading: uploading, asJSON: arguments.has("--json"))
  }

  private static func printGroups(of reports: [StoredReport], _ arguments: Arguments) throws {
    // A new one is still being written.
    let whole = reports.filter { $0.state != .new }
    let progress = ProgressLine("reading reports:")
    let (groups, failures) = ReportGroup.groups(
      of: whole, symbolDirectories: arguments.values(of: "--symbols"),
      progress: { progress.update($0, of: whole.count) })
    progress.clear()
    if arguments.has("--json") {
      Terminal.print(try JSON.text(of: groups))
    } else {
      for group in groups { Terminal.print(group.text) }
    }
    for failure in failures { Terminal.printError(failure.description) }
    if !failures.isEmpty { throw ToolError.printed }
  }

  /// Prints reports; `prune` does too.
  static func print(
    _ reports: [StoredReport], uploading: ReportID? = nil, asJSON: Bool
  ) throws {
    let entries = reports.map { report in
      Entry(
        id: report.id.description, state: report.state.rawValue,
        creationTime: report.creationTime, size: report.size,
        path: report.path, end: report.endKind,
        upload: UploadEntry(report, isUploading: report.id == uploading))
    }
    if asJSON { return Terminal.print(try JSON.text(of: entries)) }
    for entry in entries {
      let state = entry.state.padding(toLength: 9, withPad: " ", startingAt: 0)
      let end = entry.end.map { "  end: \($0)" } ?? ""
      Terminal.print(
        "\(entry.id)  \(state)  \(entry.creationTime.second) UTC  \(entry.size)\(end)"
          + "\(entry.upload.text)\n")
    }
  }
}

/// The state of a report's upload, as `list` prints it.
struct UploadEntry: Codable {
  /// "pending", "uploading", "uploaded" or "skipped".
  let state: String
  let attempts: Int
  let lastAttempt: Timestamp?
  let nextAttempt: Timestamp?
  /// True after `requestUpload`.
  let requested: Bool
  /// The server's name for it.
  let serverID: String?
  /// The outcome of the last attempt, or why there will be none.
  let note: String?

  init(_ report: StoredReport, isUploading: Bool) {
    let upload = report.upload
    state =
      if upload.isUploaded {
        "uploaded"
      } else if report.state == .completed {
        "skipped"
      } else {
        isUploading ? "uploading" : "pending"
      }
    attempts = upload.attempts
    lastAttempt = upload.lastAttemptTime
    nextAttempt = upload.nextAttemptTime
    requested = upload.isRequested
    serverID = upload.serverID.isEmpty ? nil : upload.serverID
    note = upload.note.isEmpty ? nil : upload.note
  }

  /// The end of a line; empty for a report that was never tried.
  var text: String {
    // A report can be completed as it is made, without an attempt.
    if state == "skipped", note == nil { return "" }
    var words: [String] = state == "pending" ? [] : [state]
    if let serverID { words.append("as \(serverID.escapedForMessage)") }
    if state == "pending" || state == "uploading" {
      if requested { words.append("requested") }
      if attempts > 0 { words.append("attempts: \(attempts)") }
    }
    if let nextAttempt {
      words.append("next try: \(nextAttempt.second) UTC")
    }
    if let note { words.append(note.escapedForMessage) }
    return words.isEmpty ? "" : "  " + words.joined(separator: ", ")
  }
}
