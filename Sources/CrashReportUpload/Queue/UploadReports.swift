internal import CrashReportDatabase
package import IntermediateDump

/// Sends reports immediately, for `postmortem upload`; if an upload fails, the function does not wait to try again.
///
/// This function ignores the interval between uploads, and the times stored for the next attempts.
///
/// - Parameters:
///   - ids: the reports to send, whether uploads are enabled or not; nil to send all pending reports if uploads are
///     enabled, otherwise only the requested ones.
///   - areForced: true to send `ids` even if the server already has them.
///   - emit: receives each event. If the metadata or the minidump of a pending report cannot be read, the report is not
///     sent, and `emit` receives an event of the kind `failed`.
/// - Returns: the number of reports that the server still does not have. Reports that were skipped before the first
///   upload, because they could not be read, are not counted.
/// - Throws: `UploadError` if the database cannot be used, if one of `ids` cannot be uploaded, if this process cannot
///   send requests, or if another uploader is running.
package func uploadReports(
  _ ids: [ReportID]?, areForced: Bool = false, database path: String, to target: UploadTarget,
  emit: @escaping @Sendable (UploadEvent) -> Void
) async throws(UploadError) -> Int {
  let reports: [StoredReport]
  let database: CrashReportDatabase
  do throws(CrashReportDatabaseError) {
    database = try CrashReportDatabase(path: path)
    let isEnabled = try database.uploadsEnabled()
    let listing = try database.listing()
    for id in ids ?? [] {
      if let error = listing.failures[id] { throw error }
    }
    var passedOver = ids == nil ? listing.failures : [:]
    reports = listing.knownReports.filter { report in
      if let ids { return report.state != .new && ids.contains(report.id) }
      guard report.state == .pending, isEnabled || report.upload.isRequested else { return false }
      passedOver[report.id] = database.refusal(of: report)
      return passedOver[report.id] == nil
    }.sorted { ($0.creationTime, $0.id) < ($1.creationTime, $1.id) }
    for (id, error) in passedOver.sorted(by: { $0.key < $1.key }) {
      emit(.failed(id, reason: error.description))
    }
  } catch {
    throw UploadError(error)
  }
  for id in ids ?? [] {
    guard let report = reports.first(where: { $0.id == id }) else {
      throw UploadError(.noSuchReport, "\(id) is not in \(path)")
    }
    guard areForced || !report.isUploadedWhole else {
      throw UploadError(.noSuchReport, "\(id) is uploaded already (--force sends it again)")
    }
  }
  let engine = UploadEngine(database: database, target: target, emit: emit)
  if !reports.isEmpty { _ = try engine.transport.check() }
  do throws(CrashReportDatabaseError) {
    if let left = try await engine.send(reports, areRequested: ids != nil, areForced) {
      return left
    }
  } catch {
    throw UploadError(error)
  }
  throw UploadError(.uploaderBusy, "it sends what is pending in \(path); see postmortem list")
}

extension UploadEngine {
  /// Sends reports one after another.
  ///
  /// - Returns: the number of reports that the server still does not have; nil if another uploader is running.
  fileprivate func send(
    _ reports: [StoredReport], areRequested: Bool, _ areForced: Bool
  ) async throws(CrashReportDatabaseError) -> Int? {
    guard var claim = try UploaderClaim.take(in: database) else { return nil }
    try UploadBody.removeLeftovers(in: database)
    if areRequested {
      for report in reports { try database.requestUpload(report.id, isAgain: areForced) }
    }
    var left = reports.count
    for id in reports.map(\.id) {
      do throws(CrashReportDatabaseError) {
        // The report is read again, because the previous holder of the claim may have sent it.
        guard let report = try database.report(id), report.state == .pending,
          !report.isCountedWithAnother
        else {
          if try hasServer(id) { left -= 1 }
          continue
        }
        switch try await upload(report, &claim, failures: 0) {
        case .uploaded: left -= 1
        case .skipped, .delayed, .refused, .heldBack: break
        case .interrupted: return left
        }
      } catch {
        guard error.concernsOneFile else { throw error }
        emit(.failed(id, reason: error.description))
      }
    }
    try target.sampling.settleCountedReports(in: database)
    return left
  }

  /// True if the server has this report, or has the report with which this report is counted.
  private func hasServer(_ id: ReportID) throws(CrashReportDatabaseError) -> Bool {
    guard let report = try database.report(id) else { return false }
    if report.upload.isUploaded { return true }
    guard report.isCountedWithAnother, let other = report.upload.countedWith else { return false }
    return try database.report(other)?.upload.isUploaded == true
  }
}

/// Describes the requests of `uploadReports`, without sending anything or changing any report.
///
/// - Parameters:
///   - ids: the reports; nil for all pending ones.
///   - write: called with a description of each request.
package func describeUploads(
  _ ids: [ReportID]?, database path: String, to target: UploadTarget,
  write: (UploadDescription) -> Void
) throws(UploadError) {
  var described: Set<ReportID> = []
  do throws(CrashReportDatabaseError) {
    let database = try CrashReportDatabase(path: path)
    let engine = UploadEngine(database: database, target: target, emit: { _ in })
    for report in try database.listing().reports.sorted(by: {
      ($0.creationTime, $0.id) < ($1.creationTime, $1.id)
    }) {
      guard ids?.contains(report.id) ?? (report.state == .pending) else { continue }
      described.insert(report.id)
      let now = engine.clock.now()
      let content = try target.server.content(
        of: report, in: database, target.options, report.upload.reduction, at: now)
      var body = ""
      var size: Int64 = 0
      try content.write(
        at: now, to: { size = size.clampedAdding(Int64($0.count)) }, contents: nil)
      try content.write(
        at: now, to: { body += String(decoding: $0, as: UTF8.self) },
        contents: { "<\($0.size) bytes of \($0.file.path)>" })
      write(
        UploadDescription(
          reportID: report.id.description, url: "\(target.url)",
          headers: engine.headers(content.headers),
          size: size, body: body))
    }
  } catch {
    throw UploadError(error)
  }
  if let missing = ids?.first(where: { !described.contains($0) }) {
    throw UploadError(.noSuchReport, "\(missing)")
  }
}

/// A description of a request that is not sent, for `upload --dry-run`.
package struct UploadDescription: Codable {
  package let reportID: String
  package let url: String
  package let headers: [String: String]
  /// The number of bytes that the body would have; for an envelope, the number before compression.
  package let size: Int64
  /// The body, with the path and size of each file instead of its bytes.
  package let body: String

  /// The request as HTTP text.
  package var text: String {
    let lines = headers.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)\n" }.joined()
    return "POST \(url)\n\(lines)Content-Length: \(size)\n\n\(body)\n"
  }
}
