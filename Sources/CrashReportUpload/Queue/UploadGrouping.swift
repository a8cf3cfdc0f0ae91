internal import CrashReportDatabase

/// Decides which reports one upload represents.
protocol UploadGrouping: Sendable {
  /// The reports that the upload of `report` represents; nil if the upload represents only this report, and is sent
  /// without a count.
  ///
  /// - Parameter now: the current time in seconds since 1970.
  func group(
    of report: StoredReport, in database: CrashReportDatabase, at now: Int64
  ) throws(CrashReportDatabaseError) -> UploadGroup?

  /// Records the outcome of each upload for the reports that were counted with it.
  ///
  /// Only the holder of the uploader's claim may call this function.
  func settleCountedReports(in database: CrashReportDatabase) throws(CrashReportDatabaseError)
}

extension StoredReport {
  /// True if the report itself is not sent, but counted with another report.
  var isCountedWithAnother: Bool { upload.countedWith.map { $0 != id } ?? false }
}
