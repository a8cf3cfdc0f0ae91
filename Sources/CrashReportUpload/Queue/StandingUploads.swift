package import CrashReportDatabase
internal import IntermediateDump
internal import PendingDumps

/// The uploads of a process that keeps running and sends each report when the report is due.
package struct StandingUploads: Sendable {
  let engine: UploadEngine
  /// The number of uploads that have failed in a row.
  private var failures = 0
  /// The time before which no report is sent, in seconds since 1970.
  private var heldUntil: Int64 = 0
  /// The reports whose files could not be read, and for which an event was already sent.
  private var passedOver: Set<ReportID> = []
  /// True after the event that says that uploads are disabled.
  private var hasToldDisabled = false
  /// The obstacle for which an event was already sent.
  private var obstacle: String?
  /// The reports of crashes in the uploader of this build since its last upload.
  private var crashes: [StoredReport] = []

  /// The number of failures in a row after which the server, and not a report, is assumed to be the cause.
  private static let failuresThatHold = 3
  /// The maximum number of seconds between two checks whether a report is due.
  ///
  /// Checks are also needed without a file-system event, for example if no watcher could be created.
  static let longestWaitSeconds: Int64 = 60
  /// The number of seconds between two checks while another process uploads.
  private static let turn: Int64 = 5

  init(engine: UploadEngine) { self.engine = engine }

  /// Creates uploads for tests, which pass replacements for the network and the clock.
  package init(
    _ database: CrashReportDatabase, to target: UploadTarget, transport: any UploadTransport,
    clock: UploadClock
  ) {
    self.init(
      engine: UploadEngine(
        database: database, target: target, transport: transport, clock: clock, emit: { _ in }))
  }

  /// Sends the reports that are due.
  ///
  /// - Returns: the seconds until the next check.
  package mutating func pass() async -> Int64 {
    do throws(CrashReportDatabaseError) {
      return min(try await sendDueReports(), Self.longestWaitSeconds)
    } catch {
      engine.emit(.failed(reason: error.description))
      return Self.longestWaitSeconds
    }
  }

  private mutating func sendDueReports() async throws(CrashReportDatabaseError) -> Int64 {
    guard case .report = try next() else { return try waitingTime() }
    guard var claim = try UploaderClaim.take(in: engine.database) else { return Self.turn }
    try UploadBody.removeLeftovers(in: engine.database)
    try engine.target.sampling.settleCountedReports(in: engine.database)
    if let obstacle = try findObstacle() {
      try hold(because: obstacle)
      return Self.longestWaitSeconds
    }
    (obstacle, UploadObstacle.current) = (nil, nil)
    try refuseNewReports()
    // The report is read again, because another uploader may have sent it before this uploader got the claim.
    while !Task.isCancelled, case .report(let report) = try next() {
      let goesOn = try await send(report, &claim)
      try engine.target.sampling.settleCountedReports(in: engine.database)
      guard goesOn else { break }
      _ = try claim.note(nil)
    }
    return try waitingTime()
  }

  /// Sends one report.
  ///
  /// - Returns: false if the upload was canceled, or another process has taken over the claim; this process then sends
  ///   no other report now.
  private mutating func send(
    _ report: StoredReport, _ claim: inout UploaderClaim
  ) async throws(CrashReportDatabaseError) -> Bool {
    switch try await engine.upload(report, &claim, failures: failures) {
    case .interrupted: return false
    case .uploaded:
      failures = 0
      for report in crashes { try engine.database.forgetUploaderCrash(report.id) }
      crashes = []
    case .skipped: failures = 0
    case .heldBack: break
    case .delayed(let time, let holdsAll):
      failures += 1
      guard holdsAll || failures >= Self.failuresThatHold else { break }
      heldUntil = time
      try holdOthers(until: time)
    case .refused(let start, let time, let reason):
      heldUntil = time
      try refuseAll(since: start, until: time, because: reason, asWith: report.id)
    }
    return true
  }

  /// Finds out why this process cannot upload anything now; nil if it can.
  private mutating func findObstacle() throws(CrashReportDatabaseError) -> String? {
    let instead = "; a separate process can upload: postmortem watch"
    let build: UploaderBuild
    do throws(UploadError) {
      build = .current(library: try engine.transport.check())
    } catch {
      return error.context + instead
    }
    crashes = build.crashes(
      among: try engine.database.listing().knownReports, in: engine.database)
    return UploaderBuild.pauseEnd(after: crashes, now: engine.clock.now()).map { end in
      "no uploads before \(Timestamp(seconds: end).readable), because this program has crashed in its uploader: "
        + crashes.map(\.id.description).sorted().joined(separator: ", ") + instead
    }
  }

  /// Records in every pending report why it is not sent, so that lists show the reason.
  ///
  /// The times of the next attempts stay as they are, because another process may be able to upload.
  private mutating func hold(because reason: String) throws(CrashReportDatabaseError) {
    UploadObstacle.current = reason
    for report in try pending() where report.upload.note != reason && !report.upload.isUploaded {
      try engine.database.noteUpload(report.id, because: reason)
    }
    if obstacle != reason { engine.emit(.failed(reason: reason)) }
    obstacle = reason
  }

  /// Stores in every pending report that it must not be sent before `time`, so that the delay still applies after a
  /// restart.
  private mutating func holdOthers(until time: Int64) throws(CrashReportDatabaseError) {
    for report in try pending() where (report.upload.nextAttemptTime?.seconds ?? 0) < time {
      try engine.database.delayUpload(
        report.id, until: time,
        because: "waits with the others: \(engine.target.place) accepts none")
    }
  }

  /// Records in every pending report that the server refuses all of them, so that none is sent before `time`, even by
  /// the next process.
  ///
  /// - Parameter probe: the report that was sent.
  private mutating func refuseAll(
    since start: Int64, until time: Int64, because reason: String, asWith probe: ReportID
  ) throws(CrashReportDatabaseError) {
    let reports = try pending().filter { !$0.upload.isUploaded }
    let earliest = reports.filter(\.upload.isRefusedWithOthers)
      .compactMap { $0.upload.refusedSince?.seconds }.min()
    for report in reports {
      let note = report.id == probe ? reason : "waits with the others: \(reason)"
      try engine.database.refuseUpload(
        report.id, since: min(start, earliest ?? start), until: time, because: note, isOfAll: true)
    }
  }

  /// Records in reports that are new that the server refuses all reports, if it does.
  private mutating func refuseNewReports() throws(CrashReportDatabaseError) {
    let reports = try pending().filter { !$0.upload.isUploaded }
    guard let refused = reports.first(where: \.upload.isRefusedWithOthers),
      let start = refused.upload.refusedSince, let time = refused.upload.nextAttemptTime
    else { return }
    for report in reports where !report.upload.isRefusedWithOthers && !report.upload.isRequested {
      try engine.database.refuseUpload(
        report.id, since: start.seconds, until: time.seconds, because: refused.upload.note,
        isOfAll: true)
    }
  }

  private enum Next {
    case report(StoredReport)
    case wait(Int64)
  }

  private mutating func waitingTime() throws(CrashReportDatabaseError) -> Int64 {
    if case .wait(let seconds) = try next() { seconds } else { 1 }
  }

  /// The report to send next: requested reports come first, then reports with fewer attempts, then older reports.
  private mutating func next() throws(CrashReportDatabaseError) -> Next {
    let now = engine.clock.now()
    let pending = try pending()
    guard !pending.isEmpty else { return .wait(Self.longestWaitSeconds) }
    let due = pending.map { (report: $0, time: dueTime(of: $0, now)) }
    let first = due.filter { $0.time <= now }.map(\.report).min { left, right in
      let (a, b) = (left.upload, right.upload)
      if a.isRequested != b.isRequested { return a.isRequested }
      return (a.attempts, left.creationTime, left.id) < (b.attempts, right.creationTime, right.id)
    }
    guard let first else {
      return .wait(max(1, (due.map(\.time).min() ?? now).clampedSubtracting(now)))
    }
    // A time in the future comes from a wrong clock or a damaged file, so it counts as now.
    let last = min(try engine.database.lastUploadAttemptTime()?.seconds ?? 0, now)
    let free = last.clampedAdding(engine.target.options.interval.wholeSeconds)
    // A report that the server already has need not wait until `free`, because no request is sent for it; only the
    // record of its upload is still written.
    guard free <= now || first.upload.isUploaded else { return .wait(free.clampedSubtracting(now)) }
    return .report(first)
  }

  private func dueTime(of report: StoredReport, _ now: Int64) -> Int64 {
    // A delay that is longer than the longest possible one comes from a wrong clock, and is ignored.
    func delay(_ time: Int64) -> Int64 {
      time > now.clampedAdding(UploadVerdict.longestDelay) ? 0 : time
    }
    return max(
      delay(report.upload.nextAttemptTime?.seconds ?? 0), delay(heldUntil),
      engine.spreadTime(of: report, now))
  }

  /// The pending reports that may be sent: all if uploads are enabled, otherwise only the requested ones and those
  /// whose upload only has to be recorded.
  ///
  /// Reports that are counted with another pending report are left out.
  private mutating func pending() throws(CrashReportDatabaseError) -> [StoredReport] {
    let isEnabled = try engine.database.uploadsEnabled()
    if !isEnabled, !hasToldDisabled {
      hasToldDisabled = true
      engine.emit(
        .failed(
          reason: "uploads are not enabled in \(engine.database.path): call setUploadsEnabled, or "
            + "run postmortem upload --enable"))
    }
    let listing = try engine.database.listing()
    for (id, error) in listing.failures where passedOver.insert(id).inserted {
      engine.emit(.failed(id, reason: error.description))
    }
    let all = listing.knownReports.filter { $0.state == .pending }
    let ids = Set(all.map(\.id))
    return all.filter { report in
      // A report that is counted with another report's upload is not sent while that other report is pending, because
      // the server would count it twice.
      if report.isCountedWithAnother, let id = report.upload.countedWith, ids.contains(id) {
        return false
      }
      return isEnabled || report.upload.isRequested || report.upload.isUploaded
    }
  }
}

extension UploadEngine {
  /// The earliest time of a report's first upload, in seconds since 1970; 0 if the report need not wait.
  ///
  /// - Parameter now: the current time. A report whose creation time is later has a wrong time, and does not wait.
  func spreadTime(of report: StoredReport, _ now: Int64) -> Int64 {
    let spread = target.options.spread.wholeSeconds
    let creation = report.creationTime.seconds
    guard spread > 0, report.upload.attempts == 0, !report.upload.isRequested, creation <= now
    else { return 0 }
    // The first bytes of the ID are random, so the first uploads of many hosts are spread evenly.
    let share = report.id.bytes.prefix(4).reduce(0) { $0 << 8 | Int64($1) }
    return creation.clampedAdding(Int64(clamping: (Int128(spread) * Int128(share)) >> 32))
  }
}
