internal import CrashReport
internal import CrashReportDatabase
internal import Foundation
internal import IntermediateDump
internal import Minidump
internal import PendingDumps
internal import ProcessSnapshot

/// A database that must exist: a mistyped path must not make directories.
enum ReportDatabase {
  /// The variable that stands for DIR.
  static let variable = "POSTMORTEM_DATABASE"

  /// The database that the environment names; nil if it names none.
  static var ofEnvironment: String? {
    ProcessInfo.processInfo.environment[variable].flatMap { $0.isEmpty ? nil : $0 }
  }

  /// Finds a report by its ID or the beginning of it.
  ///
  /// - Parameter help: shown for a word that cannot be one.
  /// - Throws: `ToolError` if there is none, or more than one.
  static func report(
    _ text: String, in database: CrashReportDatabase, at path: String, help: String
  ) throws -> StoredReport {
    guard isBeginningOfID(text) else {
      throw ToolError.usage("'\(text.escapedForMessage)' is not a report ID", help: help)
    }
    let beginning = text.lowercased()
    let reports: [StoredReport] =
      if let id = ReportID(text) {
        try database.report(id).map { [$0] } ?? []
      } else {
        try database.unorderedReports().filter {
          $0.state != .new && $0.id.description.hasPrefix(beginning)
        }
      }
    guard let report = reports.first else {
      throw ToolError(path: path, "no report \(text): see postmortem list \(path.quotedForShell)")
    }
    guard reports.count == 1 else {
      let ids = reports.map(\.id).sorted().prefix(8).map(\.description).joined(separator: ", ")
      throw ToolError(
        path: path,
        "\(reports.count) reports begin with \(text): \(ids)"
          + (reports.count > 8 ? ", ..." : ""))
    }
    return report
  }

  /// True for a word of which a report ID could begin.
  static func isBeginningOfID(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.count <= 36 && text.allSatisfy { $0.isHexDigit || $0 == "-" }
  }

  /// The report of the newest crash; where there is none that of the newest other dump, else of the
  /// newest end.
  ///
  /// The end of a process that is stopped for a deployment must not hide the crash before it.
  ///
  /// - Throws: `ToolError` if there is no report.
  static func newestReport(in database: CrashReportDatabase, at path: String) throws -> StoredReport
  {
    let reports = try database.unorderedReports().filter { $0.state != .new }
    let newestFirst = try ListedReport.indexed(reports, in: database).sorted {
      ($0.time, $0.stored.id) > ($1.time, $1.stored.id)
    }
    var other: StoredReport?
    var end: StoredReport?
    for report in newestFirst {
      switch report.kind(in: database) {
      case .crash: return report.stored
      case .end: end = end ?? report.stored
      case .hang, .dump: other = other ?? report.stored
      }
    }
    guard let found = other ?? end else {
      throw ToolError(path: path, "no report" + hint(waiting: path))
    }
    return found
  }

  /// The next step where dumps wait to be processed, or could not be; empty where there is none.
  private static func hint(waiting path: String) -> String {
    notes(on: path).map { "; \($0)" }.joined()
  }

  /// Says which dumps of a database are no reports: those that wait, and those in quarantine.
  static func notes(on path: String) -> [String] {
    let waiting = waiting(in: path).flatMap { $0 > 0 ? waitingText($0, path) : nil }
    return [waiting, quarantineText(path)].compactMap(\.self)
  }

  /// The names of dumps that failed for the last time.
  static func quarantined(in path: String) -> [String] {
    InputFile.names(in: path + "/" + PendingDumpName.quarantineDirectory).filter {
      !$0.hasSuffix(".reason") && !$0.hasSuffix(".run") && !$0.hasSuffix(".tmp")
    }
  }

  /// Nil where there is none.
  private static func quarantineText(_ path: String) -> String? {
    let count = quarantined(in: path).count
    guard count > 0 else { return nil }
    let directory = path + "/" + PendingDumpName.quarantineDirectory
    return "\(count) \(count == 1 ? "dump that" : "dumps that") could not be processed "
      + "\(count == 1 ? "lies" : "lie") in quarantine, each with the reason beside it: "
      + directory.quotedForShell
  }

  /// Says that dumps wait, and the command that processes them.
  static func waitingText(_ count: Int, _ path: String) -> String {
    "\(count) \(count == 1 ? "dump waits" : "dumps wait") to be processed: "
      + "postmortem process \(path.quotedForShell)"
  }

  /// The database that a command line names.
  ///
  /// - Throws: `ToolError` if it is no directory.
  static func place(_ path: String) throws(ToolError) -> String {
    try InputFile.requireDirectory(path)
    return DatabaseDirectory.place(path)
  }

  /// The same for a command that makes what is missing: a mistyped path must not become a database.
  ///
  /// - Parameter creating: true if that is meant; makes the last directory of the path, for this user alone.
  /// - Throws: `ToolError` if it has neither dumps nor reports.
  static func place(_ path: String, creating: Bool) throws(ToolError) -> String {
    if creating, unsafe mkdir(path, 0o700) != 0, errno != EEXIST {
      throw ToolError(path: path, "cannot be made: \(ToolError.text(errno))")
    }
    let place = try place(path)
    let hasReports = StoredReport.State.allCases.allSatisfy {
      InputFile.isDirectory("\(place)/\($0.rawValue)")
    }
    guard creating || hasReports || InputFile.isDirectory("\(place)/\(PendingDumpName.directory)")
    else {
      throw ToolError(
        path: path,
        "not a crash database: it has neither dumps nor reports; write --create to make it one")
    }
    return place
  }

  /// Of a directory that has nothing of a database.
  static let notOne =
    "not a crash database: it has neither dumps nor reports; give the directory that was given to "
    + "startHandler(database:)"

  /// Counts the dumps that wait to be processed; nil if there is no directory of dumps.
  static func waiting(in path: String) -> Int? {
    let pending = path + "/" + PendingDumpName.directory
    guard InputFile.isDirectory(pending) else { return nil }
    return InputFile.names(in: pending).count { PendingDumpName(fileName: $0)?.role == .finished }
  }

  /// Opens a database whose settings are to be changed, before its first program starts too: then its
  /// directory is empty, or has dumps alone.
  static func openForSettings(_ path: String, creating: Bool) throws -> CrashReportDatabase {
    // A new ext4 volume has that one.
    let isEmpty =
      InputFile.isDirectory(path) && InputFile.names(in: path).allSatisfy { $0 == "lost+found" }
    return try CrashReportDatabase(path: try place(path, creating: creating || isEmpty))
  }

  static func open(_ path: String) throws -> CrashReportDatabase {
    let path = try place(path)
    guard InputFile.isDirectory(path + "/pending") else {
      // Made by a handler; nothing was ever processed.
      if waiting(in: path) != nil { throw ToolError(path: path, "no report" + hint(waiting: path)) }
      throw ToolError(path: path, notOne)
    }
    return try CrashReportDatabase(path: path)
  }
}

extension StoredReport {
  /// Reports on ends are a few kilobytes; larger ones are not read for it.
  private static var endSize: Int64 { 64 << 10 }

  /// The way in which a run ended that left no dump, in the word of the JSON schema; nil for the
  /// report of a dump.
  var endKind: String? {
    guard state != .new, size <= Self.endSize, let bytes = try? InputFile.bytes(of: path),
      let document = MinidumpSummary.document(read: { offset, count in
        Array(bytes.dropFirst(Int(clamping: offset)).prefix(count))
      })
    else { return nil }
    return ProcessSnapshot(summarizing: document).end.map { $0.kind?.word ?? "unknown" }
  }
}

extension Arguments {
  /// The database of a command that takes nothing else: its operand, or `POSTMORTEM_DATABASE`.
  func database(help: String) throws(ToolError) -> String {
    if let path = operands.first { return path }
    guard let path = ReportDatabase.ofEnvironment else {
      throw ToolError.usage(
        "DIR is missing: give it, or set \(ReportDatabase.variable)", help: help)
    }
    return path
  }

  /// The database and the reports of a command that takes both.
  ///
  /// The first operand is the database, but where it is no directory and `POSTMORTEM_DATABASE` is set.
  func databaseAndReports(
    help: String
  ) throws(ToolError) -> (path: String, reports: ArraySlice<String>) {
    if let first = operands.first, let path = ReportDatabase.ofEnvironment,
      !InputFile.isDirectory(first)
    {
      return (path, operands[...])
    }
    return (try database(help: help), operands.dropFirst())
  }

  /// The file that `[DIR] [ID]` or `FILE` names: a report of a database, the newest without ID, or a
  /// path.
  func reportFile(help: String) throws -> String {
    var operands = operands[...]
    let path: String
    if let database = self["--database"] {
      path = database
    } else if let first = operands.first, InputFile.isDirectory(first) {
      path = first
      operands = operands.dropFirst()
    } else if operands.count == 1, let first = operands.first, InputFile.exists(first) {
      return first
    } else if operands.count < 2, let database = ReportDatabase.ofEnvironment {
      path = database
    } else {
      guard let first = operands.first else {
        throw ToolError.usage(
          "DIR or FILE is missing: give it, or set \(ReportDatabase.variable)", help: help)
      }
      if ReportDatabase.isBeginningOfID(first) {
        throw ToolError.usage(
          "no file \(first); for a report ID give DIR in front, or set \(ReportDatabase.variable)",
          help: help)
      }
      throw ToolError(path: first, ToolError.text(ENOENT))
    }
    guard operands.count < 2 else {
      throw ToolError.usage(
        "'\(operands.last?.escapedForMessage ?? "")' is one argument too many", help: help)
    }
    let database = try ReportDatabase.open(path)
    guard let id = operands.first else {
      return try ReportDatabase.newestReport(in: database, at: path).path
    }
    return try ReportDatabase.report(id, in: database, at: path, help: help).path
  }
}

extension String {
  /// The text as a shell and a terminal take it for one word.
  var quotedForShell: String {
    let plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+=:@,"
    if !isEmpty, allSatisfy(plain.contains) { return self }
    return "'" + replacing("'", with: "'\\''").escapedForMessage + "'"
  }
}
