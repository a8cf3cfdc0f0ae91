import Testing

@testable import CrashReportUpload

@Suite struct VerdictTests {
  private func judge(_ status: Int, _ retryAfter: String? = nil, body: String = "") -> UploadVerdict
  {
    UploadVerdict.judge(
      UploadResponse(status: status, retryAfter: retryAfter, body: Array(body.utf8)),
      now: 784_111_700)
  }

  @Test func everyStatusHasOneMeaning() {
    for status in -10...1100 {
      switch (status, judge(status)) {
      case (200..<300, .uploaded), (407, .retry), (408, .retry), (425, .retry), (429, .retry),
        (300..<400, .retry):
        break
      case (400..<500, .skip): break
      case (let other, .retry) where !(200..<500).contains(other): break
      default: Issue.record("\(status): \(judge(status))")
      }
    }
    #expect(judge(429) == .retry(after: nil, reason: "HTTP 429", holdsAll: true))
    #expect(judge(503, "3") == .retry(after: 3, reason: "HTTP 503", holdsAll: true))
    #expect(judge(500) == .retry(after: nil, reason: "HTTP 500", holdsAll: false))
  }

  @Test func retryAfterIsANumberOrADate() {
    let cases: [(String, Int64?)] = [
      ("7", 7), (" 120 ", 120), ("0", 0), ("99999999999999999999", UploadVerdict.longestDelay),
      ("Sun, 06 Nov 1994 08:49:37 GMT", 77), ("Sun, 06 Nov 1994 08:00:00 GMT", 0), ("-1", nil),
      ("", nil), ("soon", nil), ("1.5", nil),
    ]
    for (text, seconds) in cases {
      #expect(UploadVerdict.seconds(retryAfter: text, now: 784_111_700) == seconds, "\(text)")
    }
  }

  @Test func theServersTextIsOneHarmlessLine() {
    #expect(judge(200, body: "CrashID=bp-1\nmore") == .uploaded(serverID: "bp-1"))
    #expect(judge(200, body: "\u{1B}[2Jx\0y\u{9B}z") == .uploaded(serverID: "[2Jxyz"))
    #expect(judge(400, body: "<html>") == .skip(reason: "HTTP 400"))
    let long = String(repeating: "é", count: 9000)
    #expect(judge(200, body: long) == .uploaded(serverID: String(long.prefix(256))))
  }

  @Test func theDelayDoublesWithinBoundsAndSpreads() {
    for failures in [-1, 0, 1] {
      #expect(UploadBackoff.delay(failures: failures, random: 0) == 30)
      #expect(UploadBackoff.delay(failures: failures, random: 1) == 60)
    }
    #expect(UploadBackoff.delay(failures: 4, random: 1) == 480)
    for failures in [20, 1000, .max] {
      #expect(UploadBackoff.delay(failures: failures, random: 0) == 4 * 3600)
      #expect(UploadBackoff.delay(failures: failures, random: .nan) <= 8 * 3600)
      #expect(UploadBackoff.delay(failures: failures, random: 2) == 8 * 3600)
    }
  }

  @Test func urlsAndHeadersAreCheckedFirst() {
    for url in ["", "x", "ftp://h/", "http://", "https:///p", "http://a b/", "file:///etc/passwd"] {
      #expect(throws: UploadError.self, "\(url)") {
        try UploadTarget(url: url, options: UploadOptions())
      }
    }
    for (name, value) in [("", "x"), ("a b", "x"), ("A", "x\r\nB: y"), ("content-length", "1")] {
      var options = UploadOptions()
      options.headers = [name: value]
      #expect(throws: UploadError.self) { try UploadTarget(url: "http://h/", options: options) }
    }
  }

  @Test func aKeyInTheURLIsInNoMessage() throws {
    let target = try UploadTarget(
      url: "https://user:pw@sentry.example:444/api?sentry_key=k", options: UploadOptions())
    #expect(target.place == "https://sentry.example:444")
  }
}
