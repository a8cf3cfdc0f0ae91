internal import CrashHandler
public import CrashReportUpload

/// Uploads the pending reports of the handler's database, now and whenever one is added.
///
/// Call it once after `startHandler`. Sends nothing before uploads are enabled in the database's
/// settings; see `startProcessingPendingReports(database:to:options:)`.
///
/// - Parameters:
///   - url: of the collector, http or https.
///   - options: fields, headers and timing.
/// - Returns: the uploader, which stops when it is released.
/// - Throws: `UploadError` if the URL or a header is invalid, or `startHandler` has not succeeded.
///
/// Source: Crashpad `client/crashpad_client_ios.cc`, StartProcessingPendingReports.
public func startProcessingPendingReports(
  to url: String, options: UploadOptions = UploadOptions()
) throws(UploadError) -> ReportUploader {
  guard let handler = startedHandler() else {
    throw UploadError(
      .handlerNotStarted, "call startHandler(database:) first, or name the database here")
  }
  return try startProcessingPendingReports(
    database: handler.database, to: url, options: options)
}
