internal import CrashReportDatabase
internal import IntermediateDump

/// Sends the reports of one database to one place.
struct UploadEngine: Sendable {
  let database: CrashReportDatabase
  let target: UploadTarget
  var transport: any UploadTransport = URLSessionTransport()
  var clock = UploadClock.system
  let emit: @Sendable (UploadEvent) -> Void

  /// What came of one upload.
  enum Outcome: Sendable, Equatable {
    case uploaded
    case skipped
    /// `holdsAll` is true if no other report is to be tried before that time either.
    case delayed(until: Int64, holdsAll: Bool)
    /// This task was cancelled, or the right to upload was taken away; nothing is known of the
    /// upload, and it is done again.
    case interrupted
  }

  /// Sends one pending report, and records what came of it before anything else happens.
  ///
  /// - Parameters:
  ///   - claim: shows others what is going on; one uploader is at work at a time.
  ///   - failures: how many uploads have failed in a row, of any report.
  func upload(
    _ report: StoredReport, _ claim: inout UploaderClaim, failures: Int
  ) async throws(CrashReportDatabaseError) -> Outcome {
    // Sent by a process that died before it could say so in full.
    if report.upload.isUploaded {
      try database.finishUpload(report.id)
      return .uploaded
    }
    guard try claim.note(report.id) else { return .interrupted }
    let attempt = report.upload.attempts + 1
    let form: MultipartForm
    let body: UploadBody
    do throws(CrashReportDatabaseError) {
      form = try ReportForm.make(report, in: database, fields: target.options.fields)
      body = try UploadBody(form, of: report.id, in: database)
    } catch {
      // One report that cannot be read is not in the way of the others.
      let verdict = UploadVerdict.retry(after: nil, reason: error.description, holdsAll: false)
      return try record(verdict, of: report.id, failures: max(attempt, failures + 1))
    }
    try database.beginUpload(report.id, at: clock.now())
    emit(.began(report.id, attempt: attempt, bytes: body.size))
    let verdict: UploadVerdict
    do throws(TransportFailure) {
      let response = try await transport.send(
        request(form, body), progress: progress(of: report.id, total: body.size))
      verdict = UploadVerdict.judge(response, now: clock.now())
    } catch {
      if error.isCancelled { return .interrupted }
      verdict = .retry(
        after: nil, reason: "\(target.place): \(error.reason)", holdsAll: false)
    }
    return try record(verdict, of: report.id, failures: max(attempt, failures + 1))
  }

  private func record(
    _ verdict: UploadVerdict, of id: ReportID, failures: Int
  ) throws(CrashReportDatabaseError) -> Outcome {
    switch verdict {
    case .uploaded(let serverID):
      try database.completeUpload(id, serverID: serverID)
      emit(.uploaded(id, serverID: serverID))
      return .uploaded
    case .skip(let reason):
      try database.skipUpload(id, because: reason)
      emit(.skipped(id, reason: reason))
      return .skipped
    case .retry(let after, let reason, let holdsAll):
      let delay = max(
        1, after ?? UploadBackoff.delay(failures: failures, random: clock.random()))
      let time = clock.now().clampedAdding(delay)
      try database.delayUpload(id, until: time, because: reason)
      emit(.delayed(id, until: time, reason: reason))
      return .delayed(until: time, holdsAll: holdsAll)
    }
  }

  func request(_ form: MultipartForm, _ body: borrowing UploadBody) -> UploadRequest {
    UploadRequest(
      url: target.url, headers: headers(of: form), bodyPath: body.path, bodySize: body.size,
      timeout: target.options.timeout)
  }

  func headers(of form: MultipartForm) -> [String: String] {
    target.options.headers.merging(["Content-Type": form.contentType]) { _, own in own }
  }

  private func progress(of id: ReportID, total: Int64) -> @Sendable (Int64) -> Void {
    let told = ProgressStep()
    let emit = emit
    return { sent in
      if told.advances(to: sent) { emit(.progressed(id, sent: sent, of: total)) }
    }
  }
}
