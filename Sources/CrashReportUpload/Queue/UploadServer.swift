internal import CrashReportDatabase

/// A kind of server, with the form in which it accepts reports and the meaning of its answers.
protocol UploadServer: Sendable {
  /// The parts that the smallest upload leaves out, as text for people who read the report on the server.
  var leftOutOfSmallest: String { get }

  /// The number of seconds until the server accepts reports again; nil if it accepts them now.
  ///
  /// - Parameter now: the current time in seconds since 1970.
  func wait(now: Int64) -> Int64?

  /// Opens a report's files, and creates the content in the form that the server expects.
  ///
  /// - Parameters:
  ///   - reduction: the parts to leave out because the server refuses larger uploads.
  ///   - now: the current time in seconds since 1970.
  func content(
    of report: StoredReport, in database: CrashReportDatabase, _ options: UploadOptions,
    _ reduction: UploadReduction, at now: Int64
  ) throws(CrashReportDatabaseError) -> any UploadContent

  /// Judges an answer, and stores the limits that the answer sets for later requests.
  ///
  /// - Parameters:
  ///   - size: the number of sent bytes.
  ///   - now: the current time in seconds since 1970.
  func judge(_ response: UploadResponse, size: Int64, now: Int64) -> UploadVerdict
}

/// Servers that accept Crashpad's form.
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
