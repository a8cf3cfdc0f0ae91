internal import CrashReportDatabase

/// Decides which reports one upload stands for.
protocol UploadGrouping: Sendable {
  /// Decides what the upload of a report stands for; nil for itself alone, without a count.
  ///
  /// - Parameter now: in seconds since 1970.
  func group(
    of report: StoredReport, in database: CrashReportDatabase, at now: Int64
  ) throws(CrashReportDatabaseError) -> UploadGroup?

  /// Completes reports that were counted with the upload of another, by the outcome of that upload.
  ///
  /// For the holder of the claim only.
  func settleCountedReports(in database: CrashReportDatabase) throws(CrashReportDatabaseError)
}

extension StoredReport {
  /// True if it is not sent itself.
  var isCountedWithAnother: Bool { upload.countedWith.map { $0 != id } ?? false }
}
