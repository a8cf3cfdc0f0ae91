import Testing

@testable import CrashReportUpload

@Suite struct VerdictTests {
  private func judge(
    _ status: Int, _ retryAfter: String? = nil, body: String = "", size: Int64 = 0
  ) -> UploadVerdict {
    UploadVerdict.judge(
      UploadResponse(status: status, retryAfter: retryAfter, body: Array(body.utf8)), size: size,
      now: 784_111_700)
  }

  @Test func everyStatusHasOneMeaning() {
    for status in -10...1100 {
      switch (status, judge(status)) {
      case (200, .uploaded), (201, .uploaded), (202, .uploaded), (204, .uploaded): break
      case (203, .refused(_, _, false)), (205..<300, .refused(_, _, false)): break
      case (300..<400, .retry), (407, .retry), (408, .retry), (425, .retry), (429, .retry): break
      case (413, .tooLarge): break
      case (400, .refused(_, _, let isOfAll)), (409, .refused(_, _, let isOfAll)),
        (415, .refused(_, _, let isOfAll)), (422, .refused(_, _, let isOfAll)):
        #expect(!isOfAll)
      case (400..<500, .refused(_, _, true)) where status != 413: break
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
      ("Mon, 07 Nov 1994 20:00:00 GMT", UploadVerdict.longestDelay),
      // The date is from a clock that is not set; it is ignored.
      ("Thu, 26 Nov 2026 04:20:00 GMT", nil),
    ]
    for (text, seconds) in cases {
      #expect(UploadVerdict.seconds(retryAfter: text, now: 784_111_700) == seconds, "\(text)")
    }
  }

  @Test func theServersTextIsOneHarmlessLine() {
    #expect(judge(200, body: "CrashID=bp-1\nmore") == .uploaded(serverID: "bp-1"))
    #expect(
      judge(400, body: "\u{1B}[2Jx\0y\u{9B}z\nmore")
        == .refused(after: nil, reason: "HTTP 400: [2Jxyz", isOfAll: false))
    let long = String(repeating: "é", count: 9000)
    #expect(
      judge(400, body: long)
        == .refused(after: nil, reason: "HTTP 400: \(long.prefix(256))", isOfAll: false))
  }

  @Test(arguments: [
    ("5f3c9b2e8d114b6f9a0c7e51d2f4a6b8\n", "5f3c9b2e8d114b6f9a0c7e51d2f4a6b8"),
    ("12345678-9abc-def0-1234-56789abcdef0", "12345678-9abc-def0-1234-56789abcdef0"),
    ("CrashID=bp-1", "bp-1"), ("42", "42"), ("", ""), (" \r\n", ""), ("OK", "OK"),
    (
      "https://crashes.example/item?id=405&database=d",
      "https://crashes.example/item?id=405&database=d"
    ),
    (#"{"id":"abc"}"#, "abc"), (#"{"id":17,"product":"p","error":null}"#, "17"),
    (#""abc-1""#, "abc-1"),
    (#"{"response":"ok","_rxid":"01000000-c86e-5005"}"#, "01000000-c86e-5005"),
    (#"{"status":"success","crash_id":405,"message":"posted"}"#, "405"),
    (#"{"success":true}"#, ""), (#"{"status":200}"#, ""),
    (#"{"eventId":"e1","errors":[]}"#, "e1"),
    (#"{"id":18446744073709551615}"#, "18446744073709551615"), (#"{"id":3,"status":"new"}"#, "3"),
  ])
  func aReceiptInAFormThatAServerOfMinidumpsGives(_ body: String, _ serverID: String) {
    #expect(judge(200, body: body) == .uploaded(serverID: serverID))
    #expect(judge(201, body: "\u{FEFF}" + body) == .uploaded(serverID: serverID))
  }

  private static let pages = [
    "<html><head><title>Sign in</title></head></html>", "\u{FEFF}\r\n <!-- portal --><HTML>",
    "<!DOCTYPE html>\n<title\n>Sign\n in</TITLE>", "<?xml version='1.0'?><Error/>",
    "<script>x()</script>",
    "<meta http-equiv=refresh content='0;url=http://portal/'>",
  ]

  @Test(arguments: pages)
  func aWebPageIsNoAnswerOfTheServersWhateverItsStatus(_ page: String) {
    for status in [401, 403, 404, 405, 451] {
      guard case .refused(nil, let reason, true) = judge(status, body: page) else {
        Issue.record("\(status): \(judge(status, body: page))")
        continue
      }
      #expect(reason.hasPrefix("HTTP \(status), answered by a web page"))
    }
    for status in [200, 201, 202, 203, 204, 400, 415, 422, 500, 502, 511] {
      guard case .retry(nil, let reason, false) = judge(status, body: page) else {
        Issue.record("\(status): \(judge(status, body: page))")
        continue
      }
      #expect(reason.hasPrefix("HTTP \(status), ") && reason.contains("answered by a web page"))
      #expect(reason.hasSuffix(": Sign in") == page.contains("ign"))
    }
    #expect(judge(200, "7", body: page) == judge(200, "7", body: page))
    guard case .retry(7, _, _) = judge(200, "7", body: page) else {
      Issue.record("Retry-After is passed over")
      return
    }
  }

  @Test(arguments: [
    "Please log in", "error", "Unauthorized", "false", "null", "window.location='http://portal/'",
    #"{"error":"quota exceeded"}"#, #"{"error":{"code":1}}"#, #"{"errors":["x"],"id":"r1"}"#,
    #"{"success":false,"id":"r1"}"#, #"{"status":"error","id":"r1"}"#, #"{"status":503}"#,
    #"{"response":"error"}"#, #"{"jsonrpc":"2.0","error":{"code":-32600},"id":1}"#,
    #"{"detail":"no"}"#,
    #"{"message":"Forbidden"}"#, "{}", "[]", "true", #"["a"]"#, #"{"id":"#, #"{"id":""}"#,
    #"{"id":null}"#,
    "\u{1B}[2Jx", "ID 12345", "12345\nof the proxy", String(repeating: "x", count: 257), "é",
    "\u{1F}\u{8B}\u{8}\u{0}",
  ])
  func whatNoProtocolCallsAReceiptIsNone(_ body: String) {
    guard case .refused(nil, let reason, false) = judge(200, body: body) else {
      Issue.record("\(judge(200, body: body))")
      return
    }
    #expect(reason.hasPrefix("HTTP 200, no receipt"))
    guard case .refused(nil, _, false) = judge(203, body: body) else {
      Issue.record("\(judge(203, body: body))")
      return
    }
    for status in [205, 206, 207, 226] {
      guard case .refused(nil, _, false) = judge(status, body: "abc-1") else {
        Issue.record("\(judge(status, body: "abc-1"))")
        return
      }
    }
  }

  @Test func whatAProxyPassedOnWithA203IsJudgedByWhatItIs() {
    #expect(judge(203, body: "abc-1") == .uploaded(serverID: "abc-1"))
  }

  @Test func socorrosRulesDropAReportItIsRefused() {
    guard case .skip(let reason) = judge(200, body: "Discarded=rule_product\n") else {
      Issue.record("\(judge(200, body: "Discarded=rule_product"))")
      return
    }
    #expect(reason.contains("Discarded=rule_product"))
  }

  @Test func status413NamesTheSizeAndWhatTheServerSays() {
    #expect(
      judge(413, body: "<h1>413 Request Entity Too Large</h1>", size: 123)
        == .tooLarge(after: nil, reason: "HTTP 413 for 123 bytes, answered by a web page"))
    #expect(judge(413, "60", size: 5) == .tooLarge(after: 60, reason: "HTTP 413 for 5 bytes"))
    #expect(judge(403, "60") == .refused(after: 60, reason: "HTTP 403", isOfAll: true))
  }

  @Test(arguments: [
    #"{"detail":"invalid event envelope","causes":[]}"#, #"{"error":{"code":3,"message":"x"}}"#,
    #"{"error":"no"}"#, #"{"success":false}"#, "Discarded=malformed_no_boundary",
  ])
  func onlyAReceiversOwnErrorRefusesAReport(_ body: String) {
    for status in [400, 409, 415, 422] {
      #expect(judge(status, body: body) == .skip(reason: "HTTP \(status): \(body)"))
      guard case .retry(9, _, false) = judge(status, "9", body: body) else {
        Issue.record("\(judge(status, "9", body: body))")
        return
      }
    }
    // The same words with a status that concerns the address or the key.
    for status in [401, 402, 403, 404, 405, 406, 410, 421, 431] {
      guard case .refused(nil, _, true) = judge(status, body: body) else {
        Issue.record("\(judge(status, body: body))")
        return
      }
    }
  }

  @Test(arguments: [
    "", "Bad Request", "default backend - 404", #"{"message":"Forbidden"}"#, "upstream error",
    "RBAC: access denied",
  ])
  func anotherAnswerIsAStrangers(_ body: String) {
    for status in [400, 409, 415, 422] {
      guard case .refused(nil, _, false) = judge(status, body: body) else {
        Issue.record("\(judge(status, body: body))")
        return
      }
    }
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

  @Test func theDelayAfterARefusalDoublesWithTheTimeThatPassed() {
    var (passed, waits): (Int64, [Int64]) = (0, [])
    for _ in 0..<12 {
      waits.append(UploadBackoff.delay(refusedFor: passed, random: 1))
      passed += waits.last ?? 0
    }
    #expect(waits == [60, 60, 120, 240, 480, 960, 1920, 3840, 7680, 15360, 28800, 28800])
    #expect(UploadBackoff.delay(refusedFor: -5, random: 1) == 60)
    #expect(UploadBackoff.delay(refusedFor: .max, random: 1) == 28800)
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
