import CrashReportDatabase
import CrashTestSupport
import Synchronization
import Testing

@testable import CrashReportUpload

@Suite struct SentryRateLimitTests {
  @Test func headersAreReadAndOthersPassedOver() {
    typealias Limits = SentryRateLimits
    #expect(Limits.limits(in: "60:error;transaction:key") == [.error: 60])
    #expect(Limits.limits(in: "60::organization") == [.error: 60, .attachment: 60])
    #expect(Limits.limits(in: "60") == [.error: 60, .attachment: 60])
    #expect(
      Limits.limits(in: " 2.5:error:key , 700:attachment;error:project:quota ")
        == [.error: 700, .attachment: 700])
    for text in ["", "x", "-1:error", "60:transaction", ":error", "nan:error", ",,,", "inf"] {
      #expect(Limits.limits(in: text) == [:], "\(text)")
    }
    #expect(Limits.limits(in: "9e99:error") == [.error: UploadVerdict.longestDelay])
  }

  @Test func aLimitEndsAndIsNotShortened() {
    let limits = SentryRateLimits()
    limits.take("100:error", now: 1000)
    limits.take("10:error", now: 1000)
    limits.take(nil, now: 1000)
    #expect(limits.wait(for: .error, now: 1000) == 100)
    #expect(limits.wait(for: .error, now: 1099) == 1)
    #expect(limits.wait(for: .error, now: 1100) == nil)
    #expect(limits.wait(for: .attachment, now: 1000) == nil)
    // This time is earlier than all limits allow, as after the clock was set back.
    #expect(limits.wait(for: .error, now: -1_000_000_000) == nil)
  }

  @Test func answersToEnvelopes() {
    func judge(_ status: Int, _ after: String?, _ limits: String?, _ body: String = "")
      -> UploadVerdict
    {
      let known = SentryRateLimits()
      known.take(limits, now: 1000)
      return UploadVerdict.judge(
        envelope: UploadResponse(status: status, retryAfter: after, body: Array(body.utf8)), known,
        now: 1000)
    }
    #expect(judge(200, nil, nil, #"{"id":"abc"}"#) == .uploaded(serverID: "abc"))
    #expect(judge(200, nil, "60:error", #"{"id":"abc"}"#) == .uploaded(serverID: "abc"))
    for body in ["", "{}", "abc", #"{"uuid":"abc"}"#, #"{"id":"abc","error":"x"}"#, #"["id"]"#] {
      guard case .refused(nil, _, false) = judge(200, nil, nil, body) else {
        Issue.record("\(body): \(judge(200, nil, nil, body))")
        continue
      }
    }
    #expect(
      judge(202, nil, nil, "<html>")
        == .retry(
          after: nil, reason: "HTTP 202, no receipt, answered by a web page", holdsAll: false))
    #expect(
      judge(429, "5", "60:error:key") == .retry(after: 60, reason: "HTTP 429", holdsAll: true))
    #expect(judge(429, "5", nil) == .retry(after: 5, reason: "HTTP 429", holdsAll: true))
    #expect(judge(429, nil, nil) == .retry(after: 60, reason: "HTTP 429", holdsAll: true))
    #expect(judge(403, nil, nil) == .refused(after: nil, reason: "HTTP 403", isOfAll: true))
  }

  /// Gives prepared answers, and records the path and size of each request.
  private final class LimitingTransport: UploadTransport {
    let limits: Mutex<[String?]>
    let sizes = Mutex<[Int64]>([])
    init(_ limits: [String?]) { self.limits = Mutex(limits) }

    func send(
      _ request: UploadRequest, progress: @escaping @Sendable (Int64) -> Void
    ) async throws(UploadError) -> UploadResponse {
      sizes.withLock { $0.append(request.bodySize) }
      let limit = limits.withLock { $0.isEmpty ? nil : $0.removeFirst() }
      return UploadResponse(
        status: 200, rateLimits: limit, body: Array(#"{"id":"of-the-test"}"#.utf8))
    }
  }

  @Test func aLimitInTheAnswerToOneReportHoldsTheNextAndCountsAsNoAttempt() async throws {
    let uploads = try UploadDatabase()
    let first = try uploads.addReport()
    let second = try uploads.addReport()
    let transport = LimitingTransport(["77:error:key"])
    let now = Mutex<Int64>(1_800_000_000)
    let clock = UploadClock(now: { now.withLock { $0 } }, sleep: { _ in }, random: { 1 })
    let engine = try uploads.engine(dsn: "http://k@h/1", transport: transport, clock: clock)
    #expect(try await uploads.send(first, by: engine) == .uploaded)
    let later: Int64 = 1_800_000_077
    #expect(
      try await uploads.send(second, by: engine) == .delayed(until: later, holdsAll: true))
    #expect(try uploads.report(second).upload.attempts == 0)
    #expect(try uploads.report(second).state == .pending)
    now.withLock { $0 = later }
    #expect(try await uploads.send(second, by: engine) == .uploaded)
    #expect(transport.sizes.withLock { $0.count } == 2)
  }

  @Test func whileAttachmentsAreLimitedTheEventGoesAlone() async throws {
    let uploads = try UploadDatabase()
    let (first, second) = (try uploads.addReport(), try uploads.addReport())
    let transport = LimitingTransport(["77:attachment:key"])
    let engine = try uploads.engine(dsn: "http://k@h/1", transport: transport)
    #expect(try await uploads.send(first, by: engine) == .uploaded)
    #expect(try await uploads.send(second, by: engine) == .uploaded)
    let sizes = transport.sizes.withLock { $0 }
    #expect(sizes.count == 2 && sizes[1] < sizes[0])
  }
}
