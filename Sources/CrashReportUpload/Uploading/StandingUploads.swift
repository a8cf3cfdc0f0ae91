internal import CrashReportDatabase
internal import IntermediateDump

/// The uploads of a process that goes on living: each report when it is due.
struct StandingUploads: Sendable {
  let engine: UploadEngine
  /// Uploads that have failed in a row.
  private var failures = 0
  /// Seconds since 1970 before which the server wants nothing.
  private var heldUntil: Int64 = 0

  /// Failures in a row after which the fault is not taken for one report's.
  private static let failuresThatHold = 3
  /// Between two looks without an event, in seconds: for what makes no stir.
  static let patience: Int64 = 60
  /// Until the next look while another process uploads, in seconds.
  private static let turn: Int64 = 5

  init(engine: UploadEngine) { self.engine = engine }

  /// Sends what is due.
  ///
  /// - Returns: seconds until it makes sense to look again.
  mutating func pass() async -> Int64 {
    do throws(CrashReportDatabaseError) {
      return min(try await sendWhatIsDue(), Self.patience)
    } catch {
      engine.emit(.failed(reason: error.description))
      return Self.patience
    }
  }

  private mutating func sendWhatIsDue() async throws(CrashReportDatabaseError) -> Int64 {
    guard case .report = try next() else { return try waitingTime() }
    guard var claim = try UploaderClaim.take(in: engine.database) else { return Self.turn }
    try UploadBody.removeLeftovers(in: engine.database)
    // Looked at again: somebody else may have sent it before the claim was free.
    while !Task.isCancelled, case .report(let report) = try next() {
      guard try await send(report, &claim) else { break }
      _ = try claim.note(nil)
    }
    return try waitingTime()
  }

  /// Sends one report.
  ///
  /// - Returns: false if this is enough for now.
  private mutating func send(
    _ report: StoredReport, _ claim: inout UploaderClaim
  ) async throws(CrashReportDatabaseError) -> Bool {
    switch try await engine.upload(report, &claim, failures: failures) {
    case .interrupted: return false
    case .uploaded, .skipped: failures = 0
    case .delayed(let time, let holdsAll):
      failures += 1
      guard holdsAll || failures >= Self.failuresThatHold else { break }
      heldUntil = time
      try holdOthers(until: time)
    }
    return true
  }

  /// Keeps back what is pending, so that a restart does not ask the server once more for each.
  private func holdOthers(until time: Int64) throws(CrashReportDatabaseError) {
    for report in try pending() where (report.upload.nextAttemptTime ?? 0) < time {
      try engine.database.delayUpload(
        report.id, until: time, because: "waits with the others: \(engine.target.place) takes none")
    }
  }

  private enum Next {
    case report(StoredReport)
    case wait(Int64)
  }

  private func waitingTime() throws(CrashReportDatabaseError) -> Int64 {
    if case .wait(let seconds) = try next() { seconds } else { 1 }
  }

  /// The report whose turn it is: asked for before others, seldom tried before often, old before new.
  private func next() throws(CrashReportDatabaseError) -> Next {
    let now = engine.clock.now()
    let pending = try pending()
    guard !pending.isEmpty else { return .wait(Self.patience) }
    let due = pending.map { (report: $0, time: dueTime(of: $0, now)) }
    let first = due.filter { $0.time <= now }.map(\.report).min { left, right in
      let (a, b) = (left.upload, right.upload)
      if a.isRequested != b.isRequested { return a.isRequested }
      return (a.attempts, left.creationTime, left.id) < (b.attempts, right.creationTime, right.id)
    }
    guard let first else {
      return .wait(max(1, (due.map(\.time).min() ?? now).clampedSubtracting(now)))
    }
    // One later than now comes from a clock that was wrong, or a damaged file.
    let last = min(try engine.database.lastUploadAttemptTime() ?? 0, now)
    let free = last.clampedAdding(Int64(engine.target.options.interval))
    // Nothing is sent by finishing what a dead process has sent.
    guard free <= now || first.upload.isUploaded else { return .wait(free.clampedSubtracting(now)) }
    return .report(first)
  }

  /// A time farther away than anybody sets it comes from a clock that was wrong.
  private func dueTime(of report: StoredReport, _ now: Int64) -> Int64 {
    let time = max(report.upload.nextAttemptTime ?? 0, heldUntil)
    return time > now.clampedAdding(UploadVerdict.longestDelay) ? 0 : time
  }

  /// The pending reports that may be sent: all with consent, else those that were asked for.
  private func pending() throws(CrashReportDatabaseError) -> [StoredReport] {
    let isEnabled = try engine.database.uploadsEnabled()
    return try engine.database.reports().filter {
      $0.state == .pending && (isEnabled || $0.upload.isRequested || $0.upload.isUploaded)
    }
  }
}
