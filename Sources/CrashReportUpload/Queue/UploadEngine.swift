internal import CrashReportDatabase
internal import FoundationEssentials
internal import Glibc
internal import IntermediateDump
internal import PendingDumps
internal import Synchronization

/// Sends the reports of one database to one server.
struct UploadEngine: Sendable {
  let database: CrashReportDatabase
  let target: UploadTarget
  var transport: any UploadTransport = LibcurlTransport()
  var clock = UploadClock.system
  /// The function that runs before each upload; nil to send all reports.
  var review: UploadReview?
  let emit: @Sendable (UploadEvent) -> Void

  /// The outcome of one upload.
  enum Outcome: Sendable, Equatable {
    case uploaded
    case skipped
    /// The report waits until a time (seconds since 1970); `holdsAll` is true if no other report may be tried before
    /// that time either.
    case delayed(until: Int64, holdsAll: Bool)
    /// The server has refused all reports since a time, and no report may be tried before another one (both in seconds
    /// since 1970).
    case refused(since: Int64, until: Int64, reason: String)
    /// The review, and not the server, decided that the report is not sent.
    case heldBack
    /// The task was canceled, or another uploader took the claim; the upload will be repeated.
    case interrupted
  }

  /// Sends one pending report, and records the outcome in the database at once.
  ///
  /// If the server finds the report too large, the report is sent again with parts left out: immediately, or after
  /// the time that the server names.
  ///
  /// - Parameters:
  ///   - claim: the right to upload; it also shows other processes which report is being sent.
  ///   - failures: the number of uploads that have failed in a row, whichever reports they sent.
  func upload(
    _ report: StoredReport, _ claim: inout UploaderClaim, failures: Int
  ) async throws(CrashReportDatabaseError) -> Outcome {
    // If an earlier uploader sent this report, and ended before it had recorded everything, the report is not sent
    // again.
    if report.upload.isUploaded {
      try database.finishUpload(report.id)
      return .uploaded
    }
    guard try claim.note(report.id) else { return .interrupted }
    var attempt = Attempt(report, failures: failures)
    while true {
      let verdict: UploadVerdict
      switch try await send(&attempt) {
      case .ended(let outcome): return outcome
      case .answered(let answer): verdict = answer
      }
      guard case .tooLarge(let after, let reason) = verdict else {
        return try record(verdict, of: report, failures: attempt.failures)
      }
      guard let next = attempt.reduction.next else {
        return try record(
          .skip(reason: "\(reason) (nothing more can be left out)"), of: report,
          failures: attempt.failures)
      }
      try database.reduceUpload(report.id, to: next)
      attempt.reduction = next
      if let after {
        return try record(
          .retry(after: after, reason: reason, holdsAll: false), of: report,
          failures: attempt.failures)
      }
    }
  }

  /// The attempts to send a report; each attempt leaves out more parts than the one before.
  private struct Attempt {
    let report: StoredReport
    /// The number of the next attempt, from 1.
    var number: Int
    var reduction: UploadReduction
    /// The size that the server refused, and the server's message; nil if no size was refused.
    var refusal: (size: Int64, reason: String)?
    private let failuresBefore: Int

    init(_ report: StoredReport, failures: Int) {
      self.report = report
      number = report.upload.attempts + 1
      reduction = report.upload.reduction
      failuresBefore = failures
    }

    /// The number of failures in a row, including this attempt: of this report or of all uploads, whichever is larger.
    var failures: Int { max(number - 1, failuresBefore + 1) }
  }

  private enum Step {
    case answered(UploadVerdict)
    case ended(Outcome)
  }

  private func send(
    _ attempt: inout Attempt
  ) async throws(CrashReportDatabaseError) -> Step {
    let report = attempt.report
    if let wait = target.server.wait(now: clock.now()) {
      return .answered(
        .retry(after: wait, reason: "\(target.place) accepts no events yet", holdsAll: true))
    }
    var content: any UploadContent
    let body: UploadBody
    do throws(CrashReportDatabaseError) {
      content = try target.server.content(
        of: report, in: database, target.options, attempt.reduction, at: clock.now())
      content.stand(for: try target.sampling.group(of: report, in: database, at: clock.now()))
      content.fields["left_out"] = leftOut(attempt.reduction)
      let candidate = UploadCandidate(
        report: report, attempt: attempt.number, fields: content.fields)
      if let decision = await review?(candidate) {
        switch decision.kind {
        case .send(let fields): content.fields = fields
        case .hold(let reason):
          _ = try record(
            .skip(reason: "held back: \(reason)"), of: report, failures: attempt.failures)
          return .ended(.heldBack)
        case .delay(let seconds, let reason):
          _ = try record(
            .retry(after: seconds, reason: "held back: \(reason)", holdsAll: false),
            of: report, failures: attempt.failures)
          return .ended(.heldBack)
        }
      }
      body = try UploadBody(content, of: report.id, in: database, at: clock.now())
    } catch {
      // A report that cannot be read must not block the others, so it is tried again later.
      attempt.number += 1
      return .answered(.retry(after: nil, reason: error.description, holdsAll: false))
    }
    if let refusal = attempt.refusal, body.size >= refusal.size {
      return .answered(.tooLarge(after: nil, reason: refusal.reason))
    }
    try database.beginUpload(report.id, at: clock.now())
    emit(.began(report.id, attempt: attempt.number, bytes: body.size))
    attempt.number += 1
    do throws(UploadError) {
      let response = try await transport.send(
        request(body), progress: progress(of: report.id, total: body.size))
      let verdict = target.server.judge(response, size: body.size, now: clock.now())
      if case .tooLarge(_, let reason) = verdict { attempt.refusal = (body.size, reason) }
      return .answered(verdict)
    } catch {
      if error.code == .cancelled { return .ended(.interrupted) }
      return .answered(
        .retry(after: nil, reason: "\(target.place): \(error.context)", holdsAll: false))
    }
  }

  private func leftOut(_ reduction: UploadReduction) -> String? {
    switch reduction {
    case .none: nil
    case .withoutAttachments: "attachments"
    case .smallest: target.server.leftOutOfSmallest
    }
  }

  private func record(
    _ verdict: UploadVerdict, of report: StoredReport, failures: Int
  ) throws(CrashReportDatabaseError) -> Outcome {
    let id = report.id
    switch verdict {
    case .uploaded(let serverID):
      try database.completeUpload(id, serverID: serverID)
      // A requested report is sent although the others are refused.
      if report.upload.isRefusedWithOthers || report.upload.isRequested { try forgetRefusals() }
      OutcomeCounters.count(\.uploaded)
      emit(.uploaded(id, serverID: serverID))
      return .uploaded
    case .skip(let reason), .tooLarge(_, let reason): return try skip(id, because: reason)
    case .retry(let after, let reason, let holdsAll):
      let delay = max(
        1, after ?? UploadBackoff.delay(failures: failures, random: clock.random()))
      let time = clock.now().clampedAdding(delay)
      try database.delayUpload(id, until: time, because: reason)
      OutcomeCounters.count(\.uploadsDelayed)
      emit(.delayed(id, until: Timestamp(seconds: time), reason: reason))
      return .delayed(until: time, holdsAll: holdsAll)
    case .refused(let after, let reason, let isOfAll):
      let now = clock.now()
      // A refusal of all reports says nothing of how long the answers to this one are unclear, and the other way around.
      let isSame = report.upload.isRefusedWithOthers == isOfAll
      let start = min(isSame ? report.upload.refusedSince?.seconds ?? now : now, now)
      guard isOfAll || now &- start < UploadVerdict.longestUnclearness else {
        return try skip(
          id, because: "\(reason) (the same since \(Timestamp(seconds: start).readable))")
      }
      let delay = UploadBackoff.delay(refusedFor: now &- start, random: clock.random())
      let time = now.clampedAdding(max(1, after ?? delay))
      try database.refuseUpload(id, since: start, until: time, because: reason, isOfAll: isOfAll)
      OutcomeCounters.count(\.uploadsDelayed)
      emit(.delayed(id, until: Timestamp(seconds: time), reason: reason))
      return isOfAll
        ? .refused(since: start, until: time, reason: reason)
        : .delayed(until: time, holdsAll: false)
    }
  }

  /// Lets the reports that were refused with others be sent, because the server has accepted one.
  private func forgetRefusals() throws(CrashReportDatabaseError) {
    for report in try database.listing().knownReports
    where report.state == .pending && report.upload.isRefusedWithOthers {
      try database.forgetRefusal(of: report.id)
    }
  }

  private func skip(
    _ id: ReportID, because reason: String
  ) throws(CrashReportDatabaseError) -> Outcome {
    try database.skipUpload(id, because: reason)
    OutcomeCounters.count(\.uploadsSkipped)
    emit(.skipped(id, reason: reason))
    return .skipped
  }

  private func request(_ body: borrowing UploadBody) -> UploadRequest {
    UploadRequest(
      url: target.url, headers: headers(body.headers), bodyPath: body.path, bodySize: body.size,
      timeout: Self.seconds(target.options.timeout),
      deadline: Self.seconds(target.options.deadline))
  }

  /// A duration in whole seconds, at least one second and at most a year.
  private static func seconds(_ duration: Duration) -> Int {
    Int(clamping: min(max(1, duration.wholeSeconds), 365 * 86400))
  }

  /// The headers from `UploadOptions`, and the headers that describe the body, which replace others of the same name.
  func headers(_ own: [String: String]) -> [String: String] {
    target.options.headers.merging(own) { _, own in own }
  }

  private func progress(of id: ReportID, total: Int64) -> @Sendable (Int64) -> Void {
    let told = ProgressStep()
    let emit = emit
    return { sent in
      if told.advances(to: sent) { emit(.progressed(id, sent: sent, of: total)) }
    }
  }
}

/// The clock and random numbers, which tests replace.
package struct UploadClock: Sendable {
  /// The current time in seconds since 1970.
  var now: @Sendable () -> Int64
  /// Sleeps for a number of seconds; returns earlier if the task is canceled.
  var sleep: @Sendable (Int64) async -> Void
  /// Returns a random number from 0 to 1.
  var random: @Sendable () -> Double

  package init(
    now: @escaping @Sendable () -> Int64, sleep: @escaping @Sendable (Int64) async -> Void,
    random: @escaping @Sendable () -> Double
  ) {
    (self.now, self.sleep, self.random) = (now, sleep, random)
  }

  static let system = UploadClock(
    // `time` is the clock that the database also uses. The kernel updates `time` only at its ticks, so `time` enters
    // a new second up to a tick later than `Date`. With `Date`, the database could consider the time of an attempt
    // made now to be in the future (this happened in CI).
    now: { Int64(time(nil)) },
    sleep: { seconds in try? await Task.sleep(for: .seconds(seconds)) },
    random: { Double.random(in: 0...1) })
}

/// Recognizes when an upload has reached another MiB.
private final class ProgressStep: Sendable {
  private let last = Atomic<Int64>(0)

  /// True if `bytes`, the number of bytes sent so far, has reached another MiB than in the previous call.
  func advances(to bytes: Int64) -> Bool {
    let step = bytes >> 20
    return last.exchange(step, ordering: .relaxed) != step
  }
}
