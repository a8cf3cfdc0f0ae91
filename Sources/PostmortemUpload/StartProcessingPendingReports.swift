internal import CrashHandler
public import CrashReportUpload

/// Uploads the reports of the handler's database, those that are pending and each that comes to be.
///
/// Call it once after `startHandler`. Nothing is sent before uploads are enabled in the database's
/// settings; see `startProcessingPendingReports(database:to:options:)`.
///
/// - Parameters:
///   - url: where the form is posted to, http or https.
///   - options: what goes with each report, and how often.
/// - Returns: the uploader; it stops when it is released.
/// - Throws: `UploadError` if the URL or a header makes no sense, and before `startHandler` has
///   succeeded.
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
