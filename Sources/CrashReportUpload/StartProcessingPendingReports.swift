internal import CrashReportDatabase

/// Uploads the reports of a database, those that are pending and each that comes to be.
///
/// Nothing is sent before uploads are enabled in the database's settings
/// (`CrashReportDatabase.setUploadsEnabled`), but for reports that `requestUpload` was called for.
/// Of all processes that call this for one database one at a time sends; the others take over. Waits
/// for nothing itself: a background task does the work.
///
/// - Parameters:
///   - path: the database's folder.
///   - url: where the form is posted to, http or https. A redirect is not followed.
///   - options: what goes with each report, and how often.
/// - Returns: the uploader; it stops when it is released.
/// - Throws: `UploadError` if the URL or a header makes no sense, or the database cannot be opened. A
///   network that is down is no error.
///
/// Source: Crashpad `client/crashpad_client_ios.cc`, StartProcessingPendingReports.
public func startProcessingPendingReports(
  database path: String, to url: String, options: UploadOptions = UploadOptions()
) throws(UploadError) -> ReportUploader {
  let target = try UploadTarget(url: url, options: options)
  let database: CrashReportDatabase
  do throws(CrashReportDatabaseError) {
    database = try CrashReportDatabase(path: path)
  } catch {
    throw UploadError(error)
  }
  return ReportUploader { emit in
    UploadEngine(database: database, target: target, emit: emit)
  }
}
