public import IntermediateDump

/// A directory of reports on Linux with glibc.
///
/// This build is for another system, where no database can be opened.
public struct CrashReportDatabase: Sendable {
  /// The directory's path.
  public let path: String

  /// Always throws, because reports are not supported on this system.
  ///
  /// - Throws: `CrashReportDatabaseError` always, with the code `unsupportedPlatform`.
  public init(path: String) throws(CrashReportDatabaseError) { throw .unsupportedHere }

  /// Always throws, because reports are not supported on this system.
  public static func share(with group: String) throws(CrashReportDatabaseError) {
    throw .unsupportedHere
  }
}

// On this system, no database can be opened, so these functions are compiled but never called.
extension CrashReportDatabase {
  /// Always throws, because this system has no reports.
  public func reports() throws(CrashReportDatabaseError) -> [StoredReport] {
    throw .unsupportedHere
  }

  /// Always throws, because this system has no reports.
  public func report(_ id: ReportID) throws(CrashReportDatabaseError) -> StoredReport? {
    throw .unsupportedHere
  }

  /// Always throws, because this system has no reports.
  public func attachments(
    of id: ReportID
  ) throws(CrashReportDatabaseError) -> [StoredAttachment] {
    throw .unsupportedHere
  }

  /// Always throws, because this system has no reports.
  @discardableResult
  public func prune(
    _ condition: PruneCondition = PruneCondition()
  ) throws(CrashReportDatabaseError) -> [StoredReport] {
    throw .unsupportedHere
  }

  /// Always throws, because this system has no reports.
  public func excess(
    _ condition: PruneCondition = PruneCondition()
  ) throws(CrashReportDatabaseError) -> [StoredReport] {
    throw .unsupportedHere
  }

  /// Always throws, because this system has no reports.
  @discardableResult
  public func delete(_ id: ReportID) throws(CrashReportDatabaseError) -> Bool {
    throw .unsupportedHere
  }

  /// Always throws, because this system has no reports.
  @discardableResult
  public func requestUpload(_ id: ReportID) throws(CrashReportDatabaseError) -> Bool {
    throw .unsupportedHere
  }

  /// Always throws, because this system has no reports.
  public func clientID() throws(CrashReportDatabaseError) -> ReportID { throw .unsupportedHere }

  /// Always throws, because this system has no reports.
  public func uploadsEnabled() throws(CrashReportDatabaseError) -> Bool { throw .unsupportedHere }

  /// Always throws, because this system has no reports.
  public func setUploadsEnabled(_ enabled: Bool) throws(CrashReportDatabaseError) {
    throw .unsupportedHere
  }

  /// Always throws, because this system has no reports.
  public func lastUploadAttemptTime() throws(CrashReportDatabaseError) -> Timestamp? {
    throw .unsupportedHere
  }
}

extension CrashReportDatabaseError {
  package static let unsupportedHere = CrashReportDatabaseError(
    .unsupportedPlatform, "this program was not built for Linux with glibc")
}
