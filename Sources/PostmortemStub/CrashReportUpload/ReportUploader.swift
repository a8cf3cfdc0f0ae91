internal import CrashReportDatabase

/// Uploads reports on Linux with glibc.
///
/// This build is for another system, where no uploader can be created.
public final class ReportUploader: Sendable {
  private init() throws(UploadError) {
    throw UploadError(CrashReportDatabaseError.unsupportedHere)
  }

  /// Always throws, because this system has no reports.
  ///
  /// - Throws: `UploadError` always, with the code `databaseUnusable`.
  public convenience init(
    database path: String, to url: String, options: UploadOptions = UploadOptions(),
    review: UploadReview? = nil
  ) throws(UploadError) {
    try self.init()
  }

  /// Always throws, because this system has no reports.
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

  /// A sequence that ends without an event.
  public var events: AsyncStream<UploadEvent> { AsyncStream { $0.finish() } }

  /// Does nothing.
  public func stop() async {}
}
