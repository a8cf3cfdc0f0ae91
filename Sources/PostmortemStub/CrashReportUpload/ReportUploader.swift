internal import CrashReportDatabase

/// Sends reports on Linux with glibc; here no uploader can be made.
public final class ReportUploader: Sendable {
  private init() throws(UploadError) {
    throw UploadError(CrashReportDatabaseError.unsupportedHere)
  }

  /// Throws: there are no reports here.
  ///
  /// - Throws: `UploadError` always, with the code `databaseUnusable`.
  public convenience init(
    database path: String, to url: String, options: UploadOptions = UploadOptions(),
    review: UploadReview? = nil
  ) throws(UploadError) {
    try self.init()
  }

  /// Throws: there are no reports here.
  ///
  /// - Throws: `UploadError` always, with the code `databaseUnusable`.
  public convenience init(
    database path: String, toSentry dsn: String, options: UploadOptions = UploadOptions(),
    review: UploadReview? = nil
  ) throws(UploadError) {
    try self.init()
  }

  /// Does nothing.
  public func run() async throws(UploadError) {}

  /// Does nothing.
  public func start() throws(UploadError) {}

  /// A sequence without events.
  public var events: AsyncStream<UploadEvent> { AsyncStream { $0.finish() } }

  /// Does nothing.
  public func stop() async {}
}
