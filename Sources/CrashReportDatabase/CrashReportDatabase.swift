internal import Glibc
public import IntermediateDump
package import PendingDumps
internal import Synchronization

/// A directory of reports in Crashpad's layout, shared by any number of threads and processes.
///
/// `new/`, `pending/` and `completed/` contain the minidumps, `<report ID>.dmp`. In `pending/` and `completed/`, each
/// minidump has a file with metadata, `<report ID>.meta`. The directory that contains a report shows the report's
/// state. Next to these directories are `attachments/` and `settings.dat`. A report changes its state by one rename of
/// its minidump, and no lock is held. Files with other names or of other kinds are left as they are.
///
/// Source: Crashpad `client/crash_report_database_generic.cc`.
public struct CrashReportDatabase: Sendable {
  /// The absolute path of the database's directory.
  ///
  /// If the given path is a mount point to which others may write, the database's directory is inside it.
  public let path: String

  /// Opens a database; creates missing directories, which only this user and the group of `share(with:)` can access.
  ///
  /// - Parameter path: the directory; a relative path is resolved once, during this call.
  /// - Throws: `CrashReportDatabaseError` with a remedy if the path is not a directory, or this user cannot write to
  ///   it. The same error is thrown if other users, except members of the group of `share(with:)`, can write to the
  ///   directory and it is not a mount point. Unless this process is root, the error is also thrown if the directory
  ///   belongs to a user of this user namespace who is neither this user nor root.
  public init(path: String) throws(CrashReportDatabaseError) {
    let database = try DatabaseDirectory.openPlace(
      try DatabaseDirectory.absolute(path), creating: true)
    self.path = database.path
    for state in StoredReport.State.allCases {
      _ = try database.subdirectory(state, create: true)
    }
    _ = try database.subdirectory(Self.attachmentsDirectory, create: true)
  }

  /// Lets this process use databases to which the members of a group may write, as
  /// `HandlerOptions.sharedGroup` does.
  ///
  /// Call this function before opening such a database.
  ///
  /// - Parameter group: the name of a group in `/etc/group`, or the number of any group.
  /// - Throws: `CrashReportDatabaseError` if `/etc/group` has no group with this name.
  ///
  /// Source: group(5).
  public static func share(with group: String) throws(CrashReportDatabaseError) {
    guard let number = SystemGroup.number(group) else {
      throw CrashReportDatabaseError(
        .invalidGroup, "there is no group '\(group)'; give its number")
    }
    DatabaseDirectory.share(with: number)
  }

  package static let attachmentsDirectory = "attachments"

  /// Opens an existing database without creating anything; nil if the directory does not exist.
  package init?(existing path: String) throws(CrashReportDatabaseError) {
    self.path = DatabaseDirectory.place(try DatabaseDirectory.absolute(path))
    var status = stat()
    // If the system does not show whether the directory exists, opening it will say why.
    guard unsafe lstat(self.path, &status) == 0 || errno != ENOENT else { return nil }
  }

  /// False while the directories for reports are missing, because only a handler has used the database so far.
  package func keepsReports() throws(CrashReportDatabaseError) -> Bool {
    let database = try open()
    for state in StoredReport.State.allCases {
      guard try database.status(of: state.rawValue) != nil else { return false }
    }
    return true
  }

  /// Opens the database's directory, and checks its owner again, because the directory may have been replaced.
  package func open() throws(CrashReportDatabaseError) -> Directory {
    try DatabaseDirectory.open(path, creating: false)
  }

  /// Starts a report, which is invisible to others until it is finished.
  ///
  /// - Parameter id: the report's ID, which is the same for each conversion of a dump.
  /// - Returns: the report, with an empty file to write the minidump to.
  /// - Throws: `CrashReportDatabaseError`; its code is `reportExists` if the report is pending or completed. It is not
  ///   an error if another process is writing the report, or ended before the report was finished.
  package func prepareNewReport(_ id: ReportID) throws(CrashReportDatabaseError) -> NewReport {
    try NewReport.make(id, in: open())
  }

  /// All reports, oldest first.
  ///
  /// The metadata of each report is read. Damaged metadata is not an error, and other files in the directories are
  /// left out. A report that changes its state during the call is listed once.
  public func reports() throws(CrashReportDatabaseError) -> [StoredReport] {
    try unorderedReports().sorted { ($0.creationTime, $0.id) < ($1.creationTime, $1.id) }
  }

  /// Finds one report by its ID.
  ///
  /// - Returns: the report; nil if the database has none with this ID.
  public func report(_ id: ReportID) throws(CrashReportDatabaseError) -> StoredReport? {
    let database = try open()
    // The directory `completed/` is searched twice, because a report may move there during the search.
    for state in [.completed, .pending, .completed, .new] as [StoredReport.State] {
      let directory = try database.subdirectory(state)
      let name = StoredReport.fileName(id)
      if let report = try storedReport(id, name, state: state, in: directory) { return report }
    }
    return nil
  }

  /// Opens a report's minidump for reading, in any state.
  package func openReport(_ report: StoredReport) throws(CrashReportDatabaseError) -> OpenFile {
    let state = try self.report(report.id)?.state ?? report.state
    return try open().subdirectory(state).open(StoredReport.fileName(report.id))
  }

  /// Writes the cached data of a report that is already in the database to disk, with fsync(2).
  ///
  /// This is needed because the report's writer may have ended after it renamed the report into `pending/` or
  /// `completed/`, but before it called fsync(2).
  ///
  /// - Returns: false if the report is neither pending nor completed.
  package func synchronize(_ id: ReportID) throws(CrashReportDatabaseError) -> Bool {
    let database = try open()
    let name = StoredReport.fileName(id)
    for state in [.pending, .completed] as [StoredReport.State] {
      let directory = try database.subdirectory(state)
      guard try directory.status(of: name)?.kind == .regular else { continue }
      try directory.open(name).synchronize()
      try directory.synchronize()
      return true
    }
    return false
  }

  private func storedReport(
    _ id: ReportID, _ name: String, state: StoredReport.State, in directory: borrowing Directory
  ) throws(CrashReportDatabaseError) -> StoredReport? {
    guard let status = try directory.status(of: name), status.kind == .regular else { return nil }
    return StoredReport(id, state, status, try directory.metadata(of: id), in: directory)
  }
}

extension Directory {
  /// Opens the directory that contains the reports with a given state.
  package func subdirectory(
    _ state: StoredReport.State, create: Bool = false
  ) throws(CrashReportDatabaseError) -> Directory {
    try subdirectory(state.rawValue, create: create)
  }
}
