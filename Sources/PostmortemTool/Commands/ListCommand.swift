internal import CrashReport
internal import CrashReportDatabase
internal import Foundation
internal import IntermediateDump

/// The subcommand `postmortem list [DIR] [--group] [--json]`.
enum ListCommand: Subcommand {
  static let name = "list"
  static let summary = "list the crashes of a database, oldest first"
  static let help = """
    Lists the reports of a database, oldest crash first.

    Usage: postmortem list [DIR] [-n COUNT] [--newest] [--since WHEN] [--program NAME] [--json]
           postmortem list [DIR] --group [--symbols DIR]... [--since WHEN] [--program NAME] [--json]

    DIR is the database; POSTMORTEM_DATABASE in the environment stands for it.

    Prints for each report its ID, state (new, pending or completed), the time of the crash, the signal,
    program and version, the cause and the place in the program's own code; behind these the state of
    its upload: uploading; uploaded, and the server's ID; skipped, and why; the time of the next
    attempt, and why the last one failed. For a report on a run that left no dump it prints how that
    ended. Last lines count the dumps that wait to be processed (see postmortem process), and those that
    could not be processed and lie in quarantine, which are no reports.

    With --group, puts crashes of one program and one signature (Docs/Signatures.md) together, the most
    frequent first: how many, when first and last, in which versions.

    The facts of a report are found when it is made, and kept in the file reports.index of the database.
    A report that it lacks is read once, in a process of its own, with names as postmortem show finds
    them; the file can be removed.

      -n COUNT        print the newest COUNT reports only
      --newest        print the newest first
      --since WHEN    leave out crashes before an age (90m, 12h, 7d) or a date in UTC (2026-11-22,
                      2026-11-22T21:05)
      --program NAME  leave out other programs
      --group         print groups of crashes and not reports
      --symbols DIR   with --group, as for postmortem show: reads every report anew
      --json          print a JSON array of objects with id, state, creationTime, size, path; time,
                      program, version, signal, cause, message, place and signature, as far as they
                      are known; end, for a run that left no dump; and upload, which has state
                      (pending, uploading, uploaded, skipped), attempts, lastAttempt, nextAttempt,
                      requested, serverID and note. Of groups with signature, program, count, first,
                      last, versions and reports (IDs)

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
    /// Of the crash.
    let time: Timestamp?
    let program: String?
    let version: String?
    let signal: String?
    let cause: String?
    let message: String?
    let place: String?
    let signature: String?
    /// The way in which a run ended that left no dump.
    let end: String?
    let upload: UploadEntry

    init(_ report: ListedReport, isUploading: Bool) {
      let stored = report.stored
      id = stored.id.description
      state = stored.state.rawValue
      creationTime = stored.creationTime
      size = stored.size
      path = stored.path
      time = report.facts?.time
      program = report.facts?.program
      version = report.facts?.version
      signal = report.facts?.signal
      cause = report.facts?.cause
      message = report.facts?.message
      place = report.facts?.place
      signature = report.facts?.signature
      end = report.facts?.end
      upload = UploadEntry(stored, isUploading: isUploading)
    }
  }

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(
      words, flags: ["--group", "--json", "--newest"],
      options: ["--symbols", "--since", "--program", "-n"], operands: 0...1, help: help)
    let symbolDirectories = arguments.values(of: "--symbols")
    guard arguments.has("--group") || symbolDirectories.isEmpty else {
      throw ToolError.usage("--symbols goes with --group", help: help)
    }
    guard !arguments.has("--group") || (arguments["-n"] == nil && !arguments.has("--newest"))
    else { throw ToolError.usage("-n and --newest do not go with --group", help: help) }
    let filter = try Filter(arguments)
    let count = try arguments.integer("-n", in: 0...1_000_000_000, help: help)
    let path = try ReportDatabase.place(arguments.database(help: help))
    let notes = ReportDatabase.notes(on: path)
    // A database that only a handler has used has no reports yet, and is none to `open`.
    guard ReportDatabase.waiting(in: path) == nil || InputFile.isDirectory(path + "/pending") else {
      try print([], asJSON: arguments.has("--json"))
      return printNotes(notes, arguments)
    }
    let database = try ReportDatabase.open(path)
    // First: a report that is sent while the others are read is listed in the state it then had.
    let uploading = try UploaderClaim.reportBeingSent(in: database)
    var (reports, failures) = try ListedReport.all(
      in: database, needsNames: arguments.has("--group"), symbolDirectories: symbolDirectories)
    reports.removeAll { !filter.matches($0) }
    guard !arguments.has("--group") else {
      return try printGroups(of: reports, failures, asJSON: arguments.has("--json"))
    }
    if let count { reports.removeFirst(max(0, reports.count - count)) }
    if arguments.has("--newest") { reports.reverse() }
    try print(reports, uploading: uploading, asJSON: arguments.has("--json"))
    printNotes(notes, arguments)
  }

  /// The reports that `--since` and `--program` leave.
  private struct Filter {
    private let since: Timestamp?
    private let program: String?

    init(_ arguments: Arguments) throws {
      program = arguments["--program"]
      since = try arguments.since(help: help)
    }

    func matches(_ report: ListedReport) -> Bool {
      since.map { report.time >= $0 } ?? true
        && program.map { report.facts?.program == $0 } ?? true
    }
  }

  private static func printGroups(
    of reports: [ListedReport], _ failures: [ToolError], asJSON: Bool
  ) throws {
    let groups = ReportGroup.groups(of: reports)
    if asJSON {
      Terminal.print(try JSON.text(of: groups))
    } else {
      for group in groups { Terminal.print(group.text) }
    }
    for failure in failures { Terminal.printError(failure.description) }
    if !failures.isEmpty { throw ToolError.printed }
  }

  /// Prints reports; `prune` does too.
  static func print(
    _ reports: [ListedReport], uploading: ReportID? = nil, asJSON: Bool
  ) throws {
    if asJSON {
      let entries = reports.map { Entry($0, isUploading: $0.stored.id == uploading) }
      return Terminal.print(try JSON.text(of: entries))
    }
    let pieces = collectConcurrently(reports.count) { piece in
      let lines = piece.map {
        reports[$0].line(isUploading: reports[$0].stored.id == uploading)
      }
      return [(start: piece.lowerBound, text: lines.joined())]
    }
    for piece in pieces.sorted(by: { $0.start < $1.start }) { Terminal.print(piece.text) }
  }

  private static func printNotes(_ notes: [String], _ arguments: Arguments) {
    guard !arguments.has("--json") else { return }
    for note in notes { Terminal.print(note + "\n") }
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
