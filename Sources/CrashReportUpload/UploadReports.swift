internal import CrashReportDatabase
package import IntermediateDump

/// Sends reports once, now: what `postmortem upload` does.
///
/// Neither the time of the next attempt nor the interval keeps them back.
///
/// - Parameters:
///   - ids: these, whether uploads are enabled or not; nil for all that are pending, if they are
///     enabled.
///   - emit: hears of each step.
/// - Returns: how many of them the server does not have now.
/// - Throws: `UploadError`, also where another uploader is at work.
package func uploadReports(
  _ ids: [ReportID]?, database path: String, to url: String, options: UploadOptions,
  emit: @escaping @Sendable (UploadEvent) -> Void
) async throws(UploadError) -> Int {
  let target = try UploadTarget(url: url, options: options)
  let reports: [StoredReport]
  let database: CrashReportDatabase
  do throws(CrashReportDatabaseError) {
    database = try CrashReportDatabase(path: path)
    let isEnabled = try database.uploadsEnabled()
    reports = try database.reports().filter { report in
      if let ids { return report.state != .new && ids.contains(report.id) }
      return report.state == .pending && (isEnabled || report.upload.isRequested)
    }
  } catch {
    throw UploadError(error)
  }
  for id in ids ?? [] {
    guard let report = reports.first(where: { $0.id == id }), !report.upload.isUploaded else {
      throw UploadError(.noSuchReport, "\(id) is not in \(path), or uploaded already")
    }
  }
  do throws(CrashReportDatabaseError) {
    let engine = UploadEngine(database: database, target: target, emit: emit)
    if let left = try await engine.send(reports, areRequested: ids != nil) { return left }
  } catch {
    throw UploadError(error)
  }
  throw UploadError(.uploaderBusy, "it sends what is pending in \(path); see postmortem list")
}

extension UploadEngine {
  /// Sends reports one after another, whenever their next attempt would be.
  ///
  /// - Returns: how many of them the server does not have now; nil if another uploader is at work.
  fileprivate func send(
    _ reports: [StoredReport], areRequested: Bool
  ) async throws(CrashReportDatabaseError) -> Int? {
    guard var claim = try UploaderClaim.take(in: database) else { return nil }
    try UploadBody.removeLeftovers(in: database)
    if areRequested {
      for report in reports { try database.requestUpload(report.id) }
    }
    var left = reports.count
    for id in reports.map(\.id) {
      // As it is now: the uploader that had the claim before may have sent it.
      guard let report = try database.report(id), report.state == .pending else {
        if try database.report(id)?.upload.isUploaded == true { left -= 1 }
        continue
      }
      switch try await upload(report, &claim, failures: 0) {
      case .uploaded: left -= 1
      case .skipped, .delayed: break
      case .interrupted: return left
      }
    }
    return left
  }
}
