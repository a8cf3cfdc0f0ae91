public import CrashHandler
public import CrashReportUpload

extension Handler {
  /// Uploads the pending reports of the handler's database, now and each time that a report is added.
  ///
  /// Until uploads are enabled in the database's settings, only reports that `requestUpload` has requested are sent.
  /// For structured concurrency, use `ReportUploader.run()` instead.
  ///
  /// - Parameters:
  ///   - url: the http or https URL of the server that collects the reports.
  ///   - options: additional contents of each upload, and the pace of uploads.
  ///   - review: runs before each upload; nil to send all reports.
  /// - Returns: the uploader, which stops when it is released.
  /// - Throws: `UploadError` if the URL or a header is invalid, or the database cannot be opened.
  ///
  /// Source: Crashpad `client/crashpad_client_ios.cc`, StartProcessingPendingReports.
  public func startProcessingPendingReports(
    to url: String, options: UploadOptions = UploadOptions(), review: UploadReview? = nil
  ) throws(UploadError) -> ReportUploader {
    let uploader = try ReportUploader(
      database: database, to: url, options: options, review: review)
    try uploader.start()
    return uploader
  }

  /// Uploads the pending reports of the handler's database to Sentry, or to a server with the same protocol, now and
  /// each time that a report is added.
  ///
  /// Until uploads are enabled in the database's settings, only reports that `requestUpload` has requested are sent.
  /// Each report is sent as an envelope with an event; the minidump and the program's files are attachments. An
  /// attachment is left out, for example, if the request would be too large. The event has a message, stacks, tags and
  /// breadcrumbs.
  ///
  /// - Parameters:
  ///   - dsn: the DSN of the project, `https://KEY@HOST/PROJECT`.
  ///   - options: additional contents of each upload, and the pace of uploads; `fields` become tags.
  ///   - review: runs before each upload; nil to send all reports.
  /// - Returns: the uploader, which stops when it is released.
  /// - Throws: `UploadError` if the DSN or a header is invalid, or the database cannot be opened.
  ///
  /// Source: develop.sentry.dev, "Envelopes".
  public func startProcessingPendingReports(
    toSentry dsn: String, options: UploadOptions = UploadOptions(), review: UploadReview? = nil
  ) throws(UploadError) -> ReportUploader {
    let uploader = try ReportUploader(
      database: database, toSentry: dsn, options: options, review: review)
    try uploader.start()
    return uploader
  }
}
