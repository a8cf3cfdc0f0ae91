public import IntermediateDump

/// A directory of reports on Linux with glibc; here none can be opened.
public struct CrashReportDatabase: Sendable {
  /// The directory's path.
  public let path: String

  /// Throws: reports are not supported here.
  ///
  /// - Throws: `CrashReportDatabaseError` always, with the code `unsupportedPlatform`.
  public init(path: String) throws(CrashReportDatabaseError) { throw .unsupportedHere }

  /// Throws: reports are not supported here.
  public static func share(with group: String) throws(CrashReportDatabaseError) {
    throw .unsupportedHere
  }
}

// No database can be opened here: these calls are compiled, and never run.
extension CrashReportDatabase {
  /// Throws.
  public func reports() throws(CrashReportDatabaseError) -> [StoredReport] {
    throw .unsupportedHere
  }

  /// Throws.
  public func report(_ id: ReportID) throws(CrashReportDatabaseError) -> StoredReport? {
    throw .unsupportedHere
  }

  /// Throws.
  public func attachments(
    of id: ReportID
  ) throws(CrashReportDatabaseError) -> [StoredAttachment] {
    throw .unsupportedHere
  }

  /// Throws.
  @discardableResult
  public func prune(
    _ condition: PruneCondition = PruneCondition()
  ) throws(CrashReportDatabaseError) -> [StoredReport] {
    throw .unsupportedHere
  }

  /// Throws.
  public func excess(
    _ condition: PruneCondition = PruneCondition()
  ) throws(CrashReportDatabaseError) -> [StoredReport] {
    throw .unsupportedHere
  }

  /// Throws.
  @discardableResult
  public func delete(_ id: ReportID) throws(CrashReportDatabaseError) -> Bool {
    throw .unsupportedHere
  }

  /// Throws.
  @discardableResult
  public func requestUpload(_ id: ReportID) throws(CrashReportDatabaseError) -> Bool {
    throw .unsupportedHere
  }

  /// Throws.
  public func clientID() throws(CrashReportDatabaseError) -> ReportID { throw .unsupportedHere }

  /// Throws.
  public func uploadsEnabled() throws(CrashReportDatabaseError) -> Bool { throw .unsupportedHere }

  /// Throws.
  public func setUploadsEnabled(_ enabled: Bool) throws(CrashReportDatabaseError) {
    throw .unsupportedHere
  }

  /// Throws.
  public func lastUploadAttemptTime() throws(CrashReportDatabaseError) -> Timestamp? {
    throw .unsupportedHere
  }
}

extension CrashReportDatabaseError {
  package static let unsupportedHere = CrashReportDatabaseError(
    .unsupportedPlatform, "this program was not built for Linux with glibc")
}
