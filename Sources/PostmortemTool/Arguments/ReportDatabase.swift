internal import CrashAnalysis
internal import CrashReport
internal import CrashReportDatabase
internal import FoundationEssentials
internal import Glibc
internal import IntermediateDump
internal import Minidump
internal import PendingDumps
internal import ProcessSnapshot

/// Finds the database of a command.
///
/// The database must exist unless the user asks for a new one, because a mistyped path must not create directories.
enum ReportDatabase {
  /// The environment variable that names the database if the command line does not.
  static let variable = "POSTMORTEM_DATABASE"

  /// The path of the database from the environment variable `variable`; nil if the variable is not set or empty.
  static var ofEnvironment: String? {
    ProcessInfo.processInfo.environment[variable].flatMap { $0.isEmpty ? nil : $0 }
  }

  /// The directories in which a command that only reads looks for a database that nothing names: the system's, and
  /// the user's in the XDG state directory.
  ///
  /// Source: XDG Base Directory Specification 0.8.
  static var usualPlaces: [String] {
    let environment = ProcessInfo.processInfo.environment
    let state = environment["XDG_STATE_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
    let home = environment["HOME"].flatMap { $0.hasPrefix("/") ? $0 + "/.local/state" : nil }
    return ["/var/lib/postmortem"] + [state ?? home].compactMap { $0.map { $0 + "/postmortem" } }
  }

  /// The only database among some directories; nil if none of them is a database.
  ///
  /// - Throws: `ToolError` if more than one is.
  static func found(in places: [String]) throws(ToolError) -> String? {
    let found = places.filter { path in
      let place = DatabaseDirectory.place(path)
      return InputFile.isDirectory(place + "/pending") || waiting(in: place) != nil
    }
    guard found.count > 1 else { return found.first }
    throw ToolError(
      "no database given, and there is more than one: use "
        + found.map { "-d " + $0.quotedForShell }.joined(separator: " or "))
  }

  /// Finds a report by its ID or the beginning of its ID.
  ///
  /// - Parameter help: the help text that is shown if the word cannot be an ID.
  /// - Throws: `ToolError` if the word cannot be an ID, or if there is no such report or more than one; the database's
  ///   error if the report cannot be read.
  static func report(
    _ text: String, in database: CrashReportDatabase, at path: String, help: String
  ) throws -> StoredReport {
    guard isBeginningOfID(text) else {
      throw ToolError.usage("'\(text.escapedForMessage)' is not a report ID", help: help)
    }
    let beginning = text.lowercased()
    let reports: [StoredReport]
    if let id = ReportID(text) {
      reports = try database.report(id).map { [$0] } ?? []
    } else {
      let listing = try database.listing()
      reports = listing.reports.filter {
        $0.state != .new && $0.id.description.hasPrefix(beginning)
      }
      let failure = listing.failures.first { $0.key.description.hasPrefix(beginning) }
      if reports.isEmpty, let failure { throw failure.value }
    }
    guard let report = reports.first else {
      throw ToolError(path: path, "no report \(text): see postmortem list\(path.asDatabaseOperand)")
    }
    guard reports.count == 1 else {
      let ids = reports.map(\.id).sorted().prefix(8).map(\.description).joined(separator: ", ")
      throw ToolError(
        path: path,
        "\(reports.count) report IDs begin with \(text): \(ids)"
          + (reports.count > 8 ? ", ..." : ""))
    }
    return report
  }

  /// True for a word that could be the beginning of a report ID.
  static func isBeginningOfID(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.count <= 36 && text.allSatisfy { $0.isHexDigit || $0 == "-" }
  }

  /// Returns the path of the database for a given path: the same path or, for some mount points, a directory in the
  /// mount point (`DatabaseDirectory.place`).
  ///
  /// - Throws: `ToolError` if the path is not a directory that this user can read.
  static func place(_ path: String) throws(ToolError) -> String {
    try InputFile.requireDirectory(path)
    return DatabaseDirectory.place(path)
  }

  /// Finds the database for a command that can create a missing directory, and checks that the directory is a
  /// database.
  ///
  /// Without this check, a mistyped path would be accepted as a new database.
  ///
  /// - Parameter creating: true if the user asked for a new database. The last directory of the path is then created,
  ///   accessible only by this user.
  /// - Throws: `ToolError` if the directory cannot be created or read, or if `creating` is false and the directory has
  ///   neither dumps nor reports.
  static func place(_ path: String, creating: Bool) throws(ToolError) -> String {
    if creating, unsafe mkdir(path, 0o700) != 0, errno != EEXIST {
      throw ToolError(path: path, "cannot be created: \(ToolError.text(errno))")
    }
    let place = try place(path)
    let hasReports = StoredReport.State.allCases.allSatisfy {
      InputFile.isDirectory("\(place)/\($0.rawValue)")
    }
    guard creating || hasReports || InputFile.isDirectory("\(place)/\(PendingDumpName.directory)")
    else {
      throw ToolError(
        path: path,
        "not a crash database: it has neither dumps nor reports; use --create to create one here")
    }
    return place
  }

  /// The error text for a directory without a database.
  static let notOne =
    "not a crash database: it has neither dumps nor reports; name the directory that the program passes to "
    + "startHandler(database:)"

  /// Counts the finished dumps that wait to be processed; nil if the database has no directory of dumps.
  static func waiting(in path: String) -> Int? {
    let pending = path + "/" + PendingDumpName.directory
    guard InputFile.isDirectory(pending) else { return nil }
    return InputFile.names(in: pending).count { PendingDumpName(fileName: $0)?.role == .finished }
  }

  /// Opens a database to change its settings.
  ///
  /// The database need not contain a report yet: the directory may be empty, or have only dumps.
  static func openForSettings(_ path: String, creating: Bool) throws -> CrashReportDatabase {
    // A new ext4 volume contains a directory `lost+found`, but counts as empty.
    let isEmpty =
      InputFile.isDirectory(path) && InputFile.names(in: path).allSatisfy { $0 == "lost+found" }
    return try CrashReportDatabase(path: try place(path, creating: creating || isEmpty))
  }

  /// Removes dumps that exceed their bound, as a start of the handler does, without creating anything.
  static func boundDumps(in path: String) {
    guard let database = try? DatabaseDirectory.open(path, creating: false),
      let pending = try? database.subdirectory(PendingDumpName.directory)
    else { return }
    CrashReportDatabase.boundDumps(of: database, in: pending, host: HostIdentity.current())
  }

  static func open(_ path: String) throws -> CrashReportDatabase {
    let path = try place(path)
    guard InputFile.isDirectory(path + "/pending") else {
      // A handler has created the directory, and no dump has been processed yet.
      if waiting(in: path) != nil {
        throw ToolError(
          path: path, (["no report"] + DatabaseRest(of: path).notes).joined(separator: "; "))
      }
      throw ToolError(path: path, notOne)
    }
    return try CrashReportDatabase(path: path)
  }
}

extension StoredReport {
  /// The maximum size in bytes of a report that is read to find how a run ended.
  ///
  /// A report on how a run ended takes only a few kilobytes, so a larger report was made from a dump.
  private static var endSize: Int64 { 64 << 10 }

  /// How a run that left no dump ended, as a word of the JSON schema; nil for a report that was made from a dump or
  /// cannot be read.
  var endKind: String? {
    guard state != .new, size <= Self.endSize, let bytes = try? InputFile.bytes(of: path),
      let document = MinidumpSummary.document(read: { offset, count in
        Array(bytes.dropFirst(Int(clamping: offset)).prefix(count))
      })
    else { return nil }
    return ProcessSnapshot(summarizing: document).end.map { $0.kind?.word ?? "unknown" }
  }
}
