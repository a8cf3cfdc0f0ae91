internal import Glibc
public import IntermediateDump

/// A folder of reports in Crashpad's layout, shared by any number of threads and processes.
///
/// `new/`, `pending/` and `completed/` hold the minidumps, `<report ID>.dmp`, each with `<report
/// ID>.meta` beside it; the folder is the state. `attachments/` and `settings.dat` complete it.
/// Every change is one rename, so no lock is held, ever. Files of other names or kinds are left
/// alone.
///
/// Source: Crashpad `client/crash_report_database_generic.cc`.
public struct CrashReportDatabase: Sendable {
  /// The folder's path, absolute.
  public let path: String

  /// Opens a database; makes the folders that are missing, for this user alone.
  ///
  /// - Parameter path: the folder; a relative one is taken from the current folder once, now.
  /// - Throws: `CrashReportDatabaseError` that says what to do where the path is not a folder,
  ///   belongs to another user than this one or root, or cannot be written.
  public init(path: String) throws(CrashReportDatabaseError) {
    self.path = try DatabasePath.absolute(path)
    try DatabasePath.makeFolders(self.path)
    let database = try open()
    for state in StoredReport.State.allCases {
      _ = try database.subfolder(state.rawValue, create: true)
    }
    _ = try database.subfolder(Self.attachmentsFolder, create: true)
  }

  package static let attachmentsFolder = "attachments"

  /// Opens a database and makes nothing; nil if there is no folder of that name.
  package init?(existing path: String) throws(CrashReportDatabaseError) {
    self.path = try DatabasePath.absolute(path)
    guard DatabasePath.exists(self.path) else { return nil }
  }

  /// False while nothing has made the folders for reports: only a handler knows the database yet.
  package func keepsReports() throws(CrashReportDatabaseError) -> Bool {
    let database = try open()
    return StoredReport.State.allCases.allSatisfy { database.status(of: $0.rawValue) != nil }
  }

  /// The database's folder, judged anew each time: it may have been exchanged meanwhile.
  package func open() throws(CrashReportDatabaseError) -> Folder {
    try DatabasePath.open(path)
  }

  /// Starts a report, which exists for nobody else until it is finished.
  ///
  /// - Parameter id: the report's ID; whoever converts the same dump again gives the same one.
  /// - Returns: the report, with an empty file to write the minidump to.
  /// - Throws: `CrashReportDatabaseError`; its code is `reportExists` if the report is pending or
  ///   completed. A report that somebody else is writing, or died while writing, is not in the way.
  public func prepareNewReport(_ id: ReportID) throws(CrashReportDatabaseError) -> NewReport {
    let database = try open()
    return try NewReport.make(id, in: database)
  }

  /// All reports, oldest first.
  ///
  /// Takes time in proportion to their number: each one's metadata is read. Damaged metadata is not
  /// an error, and neither are other files in the folders: these are left out. A report that
  /// changes its state meanwhile is listed once.
  public func reports() throws(CrashReportDatabaseError) -> [StoredReport] {
    let database = try open()
    var found: [ReportID: StoredReport] = [:]
    // In the order in which reports move on, so that none is missed on its way.
    for state in StoredReport.State.allCases {
      let folder = try database.subfolder(state.rawValue)
      for name in try folder.names() {
        guard let id = StoredReport.id(fileName: name),
          let report = storedReport(id, state: state, in: folder)
        else { continue }
        found[id] = report
      }
    }
    return found.values.sorted {
      ($0.creationTime, $0.id) < ($1.creationTime, $1.id)
    }
  }

  /// One report.
  ///
  /// - Returns: nil if the database has none of this ID.
  public func report(_ id: ReportID) throws(CrashReportDatabaseError) -> StoredReport? {
    let database = try open()
    // Twice, for a report that moves on between the looks.
    for state in [.completed, .pending, .completed, .new] as [StoredReport.State] {
      let folder = try database.subfolder(state.rawValue)
      if let report = storedReport(id, state: state, in: folder) { return report }
    }
    return nil
  }

  /// Opens a report's minidump for reading, wherever it has moved on to.
  package func openReport(_ report: StoredReport) throws(CrashReportDatabaseError) -> OpenFile {
    let state = try self.report(report.id)?.state ?? report.state
    return try open().subfolder(state.rawValue).open(StoredReport.fileName(report.id))
  }

  /// Makes sure that a report which is in the database already would survive a power cut.
  ///
  /// Its writer may have died between making it visible and waiting for the disk.
  ///
  /// - Returns: false if the report is neither pending nor completed.
  package func synchronize(_ id: ReportID) throws(CrashReportDatabaseError) -> Bool {
    let database = try open()
    let name = StoredReport.fileName(id)
    for state in [.pending, .completed] as [StoredReport.State] {
      let folder = try database.subfolder(state.rawValue)
      guard folder.status(of: name)?.kind == .regular else { continue }
      try folder.open(name).synchronize()
      try folder.synchronize()
      return true
    }
    return false
  }

  private func storedReport(
    _ id: ReportID, state: StoredReport.State, in folder: borrowing Folder
  ) -> StoredReport? {
    let name = StoredReport.fileName(id)
    guard let status = folder.status(of: name), status.kind == .regular else { return nil }
    let metadata = folder.metadata(of: id)
    return StoredReport(
      id: id, state: state, path: "\(folder.path)/\(name)",
      creationTime: metadata?.creationTime ?? status.modificationTime / 1_000_000_000,
      size: status.size, upload: ReportUpload(metadata))
  }
}
