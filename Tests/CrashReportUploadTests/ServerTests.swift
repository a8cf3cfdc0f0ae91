import CrashReportDatabase
import CrashTestSupport
import Foundation
import IntermediateDump
import Testing

@testable import CrashReportUpload

/// Uploads to a real server on loopback that shares no code with ours.
@Suite(.needs(.python3))
struct ServerTests {
  private let uploads: UploadDatabase
  private let server: PythonServer

  init() throws {
    uploads = try UploadDatabase()
    server = try PythonServer(in: uploads.directory)
  }

  /// An engine that sends forms or envelopes to a path of the server.
  private func engine(
    _ path: String, isEnvelope: Bool, options: UploadOptions = UploadOptions(),
    events: EventLog = EventLog()
  ) throws -> UploadEngine {
    try uploads.engine(
      to: server.url(path), dsn: isEnvelope ? server.dsn(path) : nil, options: options,
      events: events)
  }

  private func digest(_ bytes: [UInt8]) async throws -> String {
    try uploads.directory.put(bytes, "digested")
    let child = try await ChildProcess.run(
      "/usr/bin/sha256sum", ["digested"], in: uploads.directory.path)
    return String(child.standardOutput.prefix(64))
  }

  @Test func anothersParserReadsTheFormByteForByte() async throws {
    let annotations = ["a \"x\"\r\n": "välue\r\n--\0", "empty": "", "prod": "own"]
    let id = try uploads.addReport(annotations: annotations)
    let attachment = uploads.directory.path + "/log.txt"
    let content = Array("a\r\n--b\r\n\r\n\u{0}\u{FF}".utf8)
    try uploads.directory.put(content, "log.txt")
    _ = try uploads.database.attach(attachment, as: "log.txt", to: id, limit: .max)
    let minidump = try uploads.bytes(id)
    var options = UploadOptions()
    options.fields = ["ver": "ours"]
    options.headers = ["X-Key": "secret"]
    let engine = try uploads.engine(to: server.url("ok?key=1"), options: options)
    #expect(try await uploads.send(id, by: engine) == .uploaded)

    let form = try #require(try server.forms.first)
    #expect(form.defects == [])
    #expect(form.path == "/ok?key=1" && form.headers["X-Key"] == "secret")
    let expected = [
      "a %22x%22%0D%0A": "välue\r\n--\0", "empty": "", "prod": "own", "ver": "ours",
      "guid": "\(try uploads.database.clientID())", "report_id": "\(id)",
    ]
    #expect(form.fields.keys.sorted() == expected.keys.sorted())
    for (name, value) in expected { #expect(form.fields[name] == value, "\(name)") }
    #expect(form.order.suffix(2) == ["log.txt", "upload_file_minidump"])
    let file = try #require(form.files["upload_file_minidump"])
    #expect(file.name == "\(id).dmp" && file.size == minidump.count)
    #expect(try await digest(minidump) == file.sha256)
    #expect(try await digest(content) == form.files["log.txt"]?.sha256)

    let report = try uploads.report(id)
    #expect(report.state == .completed && report.upload.isUploaded)
    #expect(report.upload.serverID == "bp-of-the-test" && report.upload.attempts == 1)
    #expect(uploads.directory.names("db/new").isEmpty)
  }

  @Test(
    arguments: ["reset", "drop", "garbage", "redirect", "status/500", "status/408", "retry/429/7"],
    [false, true])
  func aFaultThatPassesTheReportStaysAndGoesTheNextTimeWithTheSameID(
    _ fault: String, isEnvelope: Bool
  ) async throws {
    let id = try uploads.addReport()
    let events = EventLog()
    let now = UploadClock.system.now()
    let engine = try engine("once/" + fault, isEnvelope: isEnvelope, events: events)
    guard case .delayed(let time, _) = try await uploads.send(id, by: engine) else {
      Issue.record("\(events.events)")
      return
    }
    let report = try uploads.report(id)
    #expect(report.state == .pending && report.upload.nextAttemptTime?.seconds == time)
    #expect(!report.upload.note.isEmpty && !report.upload.note.contains("null"))
    #expect(time >= now + (fault.hasPrefix("retry") ? 7 : UploadBackoff.shortest / 2))
    #expect(try await uploads.send(id, by: engine) == .uploaded)
    #expect(try uploads.report(id).upload.attempts == 2)
    let forms = try server.forms
    #expect(forms.map { $0.fields["report_id"] } == ["\(id)", "\(id)"])
    #expect(forms.allSatisfy { $0.path.hasPrefix("/once") }, "a redirect is not followed")
    #expect(uploads.directory.names("db/new").isEmpty)
  }

  @Test(arguments: [false, true])
  func aReportWhoseBodyCannotBePutTogetherIsTriedLaterAndIsNotInTheOthersWay(isEnvelope: Bool)
    async throws
  {
    let large = try uploads.addReport()
    var random = SystemRandomNumberGenerator()
    try uploads.directory.put(
      (0..<1 << 20).map { _ in UInt8.random(in: .min ... .max, using: &random) }, "noise")
    _ = try uploads.database.attach(
      uploads.directory.path + "/noise", as: "noise", to: large, limit: .max)
    let small = try uploads.addReport()
    // The limit of 50 KiB for each file has the effect of a full disk.
    let script = #"trap "" XFSZ; ulimit -f 100; exec "$@""#
    let limited = try await ChildProcess.run(
      "/bin/sh",
      [
        "-c", script, "sh", try BuiltProducts.besideTests("postmortem"), "upload",
        uploads.database.path,
      ] + (isEnvelope ? ["--dsn", server.dsn("ok")] : ["--url", server.url("ok")]),
      in: uploads.directory.path)
    #expect(limited.end.exitCode == 1, "\(limited.standardError)")
    #expect(try server.forms.map(\.fields["report_id"]) == ["\(small)"])
    #expect(try uploads.report(small).state == .completed)
    let report = try uploads.report(large)
    #expect(report.state == .pending && report.upload.attempts == 0)
    #expect(report.upload.nextAttemptTime != nil)
    #expect(report.upload.note.contains("File too large"), "\(report.upload.note)")
    #expect(uploads.directory.names("db/new").isEmpty)
    #expect(try await uploads.send(large, by: engine("ok", isEnvelope: isEnvelope)) == .uploaded)
  }

  @Test func theToolSendsSoManyReportsOfASignatureWholeAndTheOthersAsACount() async throws {
    for _ in 0..<4 { _ = try uploads.addReport(signature: "crash in it") }
    try uploads.database.setUploadsEnabled(true)
    let tool = try await ChildProcess.run(
      try BuiltProducts.besideTests("postmortem"),
      ["upload", uploads.database.path, "--url", server.url("ok"), "--whole-reports", "1"],
      in: uploads.directory.path)
    #expect(tool.end.exitCode == 0, "\(tool.standardError)")
    let forms = try server.forms
    #expect(forms.map { $0.fields["report_count"] } == ["1", "3"])
    #expect(forms.map { $0.files["upload_file_minidump"] != nil } == [true, false])
  }

  @Test(arguments: [false, true])
  func aResetInTheMiddleOfABodyAndNobodyThereAtAll(isEnvelope: Bool) async throws {
    let id = try uploads.addReport(extra: 3 << 20)
    let nobody = "http://127.0.0.1:1/"
    let engines = [
      try engine("reset", isEnvelope: isEnvelope),
      try uploads.engine(to: nobody, dsn: isEnvelope ? "http://key@127.0.0.1:1/1" : nil),
    ]
    for engine in engines {
      guard case .delayed = try await uploads.send(id, by: engine) else {
        Issue.record("it was sent")
        return
      }
    }
    #expect(try uploads.report(id).upload.attempts == 2 && server.forms.isEmpty)
  }

  @Test func aServerThatIsSlowToReadAndToAnswerGetsTheReportWholeAtTheFirstAttempt() async throws {
    let id = try uploads.addReport(extra: 16 << 20)
    let engine = try uploads.engine(to: server.url("slow"))
    #expect(try await uploads.send(id, by: engine) == .uploaded)
    let report = try uploads.report(id)
    #expect(report.upload.attempts == 1 && report.upload.serverID == "slow")
    let file = try server.forms.first?.files["upload_file_minidump"]
    #expect(file?.size == Int(report.size))
  }

  @Test(arguments: ["refused-400", "refused-422"], [false, true])
  func whatTheServerRefusesForGoodIsSkippedAndWhyIsKept(_ name: String, isEnvelope: Bool)
    async throws
  {
    let id = try uploads.addReport()
    let engine = try engine("answer/\(name)", isEnvelope: isEnvelope)
    #expect(try await uploads.send(id, by: engine) == .skipped)
    let report = try uploads.report(id)
    #expect(report.state == .completed && !report.upload.isUploaded)
    #expect(
      report.upload.note.hasPrefix("HTTP \(name.suffix(3)): {")
        && report.upload.note.contains("a report of the test"))
    #expect(try uploads.database.requestUpload(id))
    let next = try self.engine("ok", isEnvelope: isEnvelope)
    #expect(try await uploads.send(id, by: next) == .uploaded)
  }

  /// Answers of ingresses, proxies and gateways, and of a receiver that does not know the key.
  @Test(
    arguments: ["ingress-404", "envoy-403", "gateway-401", "page-405", "relay-403", "gone"],
    [false, true])
  func whatRefusesTheAddressOrTheKeyLosesNoReport(_ name: String, isEnvelope: Bool) async throws {
    let ids = [try uploads.addReport(), try uploads.addReport()]
    var stranger = StandingUploads(
      engine: try engine("answer/\(name)", isEnvelope: isEnvelope))
    _ = await stranger.pass()
    for id in ids {
      let upload = try uploads.report(id).upload
      #expect(try uploads.report(id).state == .pending && upload.refusedSince != nil)
      #expect(upload.nextAttemptTime != nil && upload.note.contains("HTTP 4"))
    }
    #expect(try ids.map { try uploads.report($0).upload.attempts }.sorted() == [0, 1])
    let next = try engine("ok", isEnvelope: isEnvelope)
    for id in ids { #expect(try await uploads.send(id, by: next) == .uploaded) }
  }

  @Test(
    arguments: [
      "page", "page-203", "page-400", "bad-request", "page-plain", "gzip-page", "sentence", "error",
      "false",
      "array", "partial",
    ], [false, true])
  func anAnswerThatIsNoReceiptEndsNoReportItGoesAgainAndTheNoteSaysWhatCame(
    _ name: String, isEnvelope: Bool
  ) async throws {
    let id = try uploads.addReport()
    let portal = try engine("answer/\(name)", isEnvelope: isEnvelope)
    guard case .delayed = try await uploads.send(id, by: portal) else {
      Issue.record("\(try uploads.report(id))")
      return
    }
    let report = try uploads.report(id)
    #expect(report.state == .pending && !report.upload.isUploaded)
    #expect(
      report.upload.note.hasSuffix("answered by a web page: Sign in to Wi-Fi")
        == name.contains("page"), "\(report.upload.note)")
    let next = try engine("ok", isEnvelope: isEnvelope)
    #expect(try await uploads.send(id, by: next) == .uploaded)
  }

  @Test(arguments: [
    ("id", "of-the-test"), ("gzip-id", "of-the-test"), ("json", "of-the-test"), ("empty", ""),
    ("gzip-json", "of-the-test"), ("backtrace", "of-the-test"), ("no-content", ""),
  ])
  func receiptsOfServersOfMinidumpsAndOfSentrysProtocol(_ name: String, serverID: String)
    async throws
  {
    for isEnvelope in [false, true] {
      let id = try uploads.addReport()
      let outcome = try await uploads.send(
        id, by: engine("answer/\(name)", isEnvelope: isEnvelope))
      if isEnvelope, !name.hasSuffix("json") {
        guard case .delayed = outcome else {
          Issue.record("\(name) is no receipt of an envelope")
          continue
        }
      } else {
        #expect(outcome == .uploaded)
        #expect(try uploads.report(id).upload.serverID == serverID)
      }
    }
  }

  @Test(arguments: [false, true])
  func whatIsTooLargeGoesAgainWithoutAttachmentsThenSmallerAndSaysSo(isEnvelope: Bool) async throws
  {
    var random = SystemRandomNumberGenerator()
    let noise = (0..<200_000).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    try uploads.directory.put(noise, "noise")
    func add(memory: Int) throws -> ReportID {
      let id = try uploads.addReport(memory: Array(noise.prefix(memory)))
      _ = try uploads.database.attach(
        uploads.directory.path + "/noise", as: "noise", to: id, limit: .max)
      return id
    }
    let sizes = { () throws -> [Int] in
      let text = try String(contentsOfFile: server.recordPath + ".refused", encoding: .utf8)
      return text.split(separator: "\n").compactMap { Int($0) }
    }
    let engine = try engine("limit/100000", isEnvelope: isEnvelope)
    // The attachment exceeds the server's limit.
    let first = try add(memory: 1000)
    #expect(try await uploads.send(first, by: engine) == .uploaded)
    var form = try #require(try server.forms.last)
    #expect(Array(form.files.keys) == ["upload_file_minidump"])
    #expect(form.fields["left_out"] == "attachments")
    #expect(try uploads.report(first).upload.attempts == 2)
    // The memory exceeds it, too.
    let second = try add(memory: 150_000)
    #expect(try await uploads.send(second, by: engine) == .uploaded)
    form = try #require(try server.forms.last)
    #expect(form.files["noise"] == nil)
    #expect(
      form.fields["left_out"] == (isEnvelope ? "attachments, minidump" : "attachments, memory"))
    #expect((form.files["upload_file_minidump"]?.size ?? 0) < 100_000)
    #expect(try uploads.report(second).upload.attempts == 3)
    #expect(try sizes().count == 3 && sizes().allSatisfy { $0 > 100_000 })
    // Even the report without both exceeds it.
    let third = try add(memory: 1000)
    let hopeless = try self.engine("limit/10", isEnvelope: isEnvelope)
    #expect(try await uploads.send(third, by: hopeless) == .skipped)
    let report = try uploads.report(third)
    let last = try #require(try sizes().last)
    #expect(
      report.upload.note
        == "HTTP 413 for \(last) bytes, answered by a web page: 413 Request Entity Too Large "
        + "(nothing more can be left out)")
    #expect(try uploads.report(third).state == .completed && report.size > 1000)
    // On request, it is sent whole.
    #expect(try uploads.database.requestUpload(third))
    #expect(
      try await uploads.send(third, by: self.engine("ok", isEnvelope: isEnvelope)) == .uploaded)
    form = try #require(try server.forms.last)
    #expect(form.files["noise"]?.size == 200_000 && form.fields["left_out"] == nil)
  }

  @Test func a413WithRetryAfterIsWaitedForAndThenLessIsSentByTheNextProcessToo() async throws {
    let id = try uploads.addReport()
    try uploads.directory.put([UInt8](repeating: 1, count: 100_000), "log")
    _ = try uploads.database.attach(
      uploads.directory.path + "/log", as: "log", to: id, limit: .max)
    let before = UploadClock.system.now()
    let engine = try engine("limit/50000/700", isEnvelope: false)
    guard case .delayed(let time, false) = try await uploads.send(id, by: engine) else {
      Issue.record("not delayed")
      return
    }
    #expect(time >= before + 700 && time < before + 760)
    #expect(try uploads.report(id).upload.attempts == 1 && server.forms.isEmpty)
    #expect(try uploads.report(id).upload.note.hasPrefix("HTTP 413 for 10"))
    let next = try self.engine("limit/50000/700", isEnvelope: false)
    #expect(try await uploads.send(id, by: next) == .uploaded)
    #expect(try server.forms.map(\.fields["left_out"]) == ["attachments"])
  }

  @Test(arguments: [false, true])
  func anAnswerWithoutAnEndIsNoReceipt(isEnvelope: Bool) async throws {
    let id = try uploads.addReport()
    let engine = try engine("endless", isEnvelope: isEnvelope)
    guard case .delayed = try await uploads.send(id, by: engine) else {
      Issue.record("it counts as sent")
      return
    }
    #expect(try uploads.report(id).upload.note.hasPrefix("HTTP 200, no receipt: xxx"))
  }

  @Test(arguments: [false, true])
  func ofAnAnswerOf2GBNoMoreIsReadThanSocketsBuffer(isEnvelope: Bool) async throws {
    let id = try uploads.addReport()
    let engine = try engine("flood/2048", isEnvelope: isEnvelope)
    guard case .delayed = try await uploads.send(id, by: engine) else {
      Issue.record("it counts as sent")
      return
    }
    #expect(try await server.bytesSent() < 16 << 20)
  }

  @Test(arguments: [false, true])
  func headersWithoutAnEndAreNoAnswer(isEnvelope: Bool) async throws {
    let id = try uploads.addReport()
    let engine = try engine("headers", isEnvelope: isEnvelope)
    guard case .delayed = try await uploads.send(id, by: engine) else {
      Issue.record("it was sent")
      return
    }
    #expect(try await server.bytesSent() < 16 << 20)
  }

  @Test(arguments: [false, true])
  func aServerThatAnswersAByteAtATimeHoldsAnUploadUntilItsDeadline(isEnvelope: Bool) async throws {
    let id = try uploads.addReport()
    var options = UploadOptions()
    options.deadline = .seconds(2)
    let engine = try engine("drip", isEnvelope: isEnvelope, options: options)
    guard case .delayed = try await uploads.send(id, by: engine) else {
      Issue.record("it was sent")
      return
    }
    #expect(try uploads.report(id).upload.note.contains("not done after 2 s"))
  }

  @Test func whileAServerDoesNotAnswerAnUploadSleeps() async throws {
    let body = uploads.directory.path + "/body"
    try uploads.directory.put(Array("x".utf8), "body")
    let request = UploadRequest(
      url: server.url("stall"), headers: ["Content-Type": "text/plain"], bodyPath: body,
      bodySize: 1, timeout: 3, deadline: 60)
    let made = Transfer(request, with: try TransferLibrary.find()) { _ in }
    let transfer = try #require(made)
    let answer = await transfer.run()
    // A wake-up takes microseconds: 2 % of a processor would be thousands of them.
    #expect(answer.wakes < 50)
    #expect(answer.reason.isEmpty && answer.status == 0)
  }

  /// Each answer that was read anew has bytes of its own.
  @Test func theLibraryIsCheckedBeforeTheFirstRequestOnly() async throws {
    let id = try uploads.addReport()
    #expect(try await uploads.send(id, by: try engine("ok", isEnvelope: false)) == .uploaded)
    let (first, second) = (try TransferLibrary.find().buildID, try TransferLibrary.find().buildID)
    try #require(!first.isEmpty)
    unsafe first.withUnsafeBufferPointer { first in
      unsafe second.withUnsafeBufferPointer { second in
        #expect(unsafe first.baseAddress == second.baseAddress)
      }
    }
  }

  @Test(arguments: [false, true])
  func cancelledWhileTheServerDoesNotAnswerAnUploadEndsAndIsDoneAgain(isEnvelope: Bool) async throws
  {
    let id = try uploads.addReport()
    let engine = try engine("hang", isEnvelope: isEnvelope)
    let task = Task { [uploads] in try await uploads.send(id, by: engine) }
    while try server.forms.isEmpty { try await Task.sleep(for: .milliseconds(10)) }
    task.cancel()
    #expect(try await task.value == .interrupted)
    let report = try uploads.report(id)
    #expect(report.state == .pending && report.upload.nextAttemptTime == nil)
    let next = try self.engine("ok", isEnvelope: isEnvelope)
    #expect(try await uploads.send(id, by: next) == .uploaded)
  }

  /// The first message of TLS names the versions of HTTP that the client offers (ALPN).
  @Test func onlyHTTP1IsOfferedToAServer() async throws {
    let listener = try Listener()
    async let hello = listener.firstBytes()
    let id = try uploads.addReport()
    let engine = try uploads.engine(to: "https://127.0.0.1:\(listener.port)/")
    guard case .delayed = try await uploads.send(id, by: engine) else {
      Issue.record("it was sent")
      return
    }
    let offered = Array("http/1.1".utf8)
    let bytes = try await hello
    let place = try #require(bytes.firstRange(of: [UInt8(offered.count)] + offered))
    // The list has a length of two bytes, and only this entry.
    #expect(Array(bytes[..<place.lowerBound].suffix(2)) == [0, UInt8(offered.count + 1)])
  }

  @Test(.needs(.openssl))
  func aCertificateThatNobodyVouchesForIsRefused() async throws {
    let directory = uploads.directory.path
    let made = try await ChildProcess.run(
      try #require(OutsideTool.openssl.path),
      [
        "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
        "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem", "-out", "cert.pem",
      ], in: directory)
    try #require(made.end.exitCode == 0, "\(made.standardError)")
    let secure = try PythonServer(
      in: uploads.directory, certificate: (directory + "/cert.pem", directory + "/key.pem"))
    let id = try uploads.addReport()
    let engine = try uploads.engine(to: "https://127.0.0.1:\(secure.port)/ok")
    guard case .delayed = try await uploads.send(id, by: engine) else {
      Issue.record("it was sent")
      return
    }
    #expect(try uploads.report(id).upload.note.lowercased().contains("certificate"))
    #expect(try secure.forms.isEmpty)
  }
}
