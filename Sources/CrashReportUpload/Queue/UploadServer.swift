internal import CrashReportDatabase

/// A kind of server: the form in which it takes reports, and the meaning of its answers.
protocol UploadServer: Sendable {
  /// What an upload with the least in it leaves out, for the server and for those who read the report there.
  var leftOutOfSmallest: String { get }

  /// Seconds until the server takes reports again; nil if it takes them now.
  ///
  /// - Parameter now: in seconds since 1970.
  func wait(now: Int64) -> Int64?

  /// Opens a report's files, and takes from them what the server's form needs.
  ///
  /// - Parameters:
  ///   - reduction: leaves out what the server finds too large.
  ///   - now: in seconds since 1970.
  func content(
    of report: StoredReport, in database: CrashReportDatabase, _ options: UploadOptions,
    _ reduction: UploadReduction, at now: Int64
  ) throws(CrashReportDatabaseError) -> any UploadContent

  /// Judges an answer, and remembers what it asks of later requests.
  ///
  /// - Parameters:
  ///   - size: the bytes that were sent.
  ///   - now: in seconds since 1970.
  func judge(_ response: UploadResponse, size: Int64, now: Int64) -> UploadVerdict
}

/// The servers that take Crashpad's form.
struct FormServer: UploadServer {
  var leftOutOfSmallest: String { "attachments, memory" }

  func wait(now: Int64) -> Int64? { nil }

  func content(
    of report: StoredReport, in database: CrashReportDatabase, _ options: UploadOptions,
    _ reduction: UploadReduction, at now: Int64
  ) throws(CrashReportDatabaseError) -> any UploadContent {
    UploadForm(
      try ReportContents(
        report, in: database, options, reduction, leavesOutMemory: reduction == .smallest))
  }

  func judge(_ response: UploadResponse, size: Int64, now: Int64) -> UploadVerdict {
    UploadVerdict.judge(response, size: size, now: now)
  }
}
