import CrashReportDatabase
import CrashTestSupport
import Foundation
import IntermediateDump
import Synchronization
import Testing

@testable import CrashReportUpload

/// Reads the sent forms, and answers according to a rule.
private final class FormTransport: UploadTransport {
  struct Form: Sendable {
    var fields: [String: String] = [:]
    var hasMinidump = false
  }
  let forms = Mutex<[Form]>([])
  /// The HTTP statuses of the next answers; 0 for a lost answer.
  let answers = Mutex<[Int]>([])

  func send(
    _ request: UploadRequest, progress: @escaping @Sendable (Int64) -> Void
  ) async throws(UploadError) -> UploadResponse {
    let body = (try? Data(contentsOf: URL(fileURLWithPath: request.bodyPath))) ?? Data()
    let text = String(decoding: body, as: UTF8.self)
    var form = Form()
    for match in text.matches(of: /form-data; name="(\w+)"\r\n\r\n([^\r]*)\r\n/) {
      form.fields[String(match.1)] = String(match.2)
    }
    form.hasMinidump = text.contains("name=\"upload_file_minidump\"")
    forms.withLock { $0.append(form) }
    let status = answers.withLock { $0.isEmpty ? 200 : $0.removeFirst() }
    if status == 0 { throw UploadError(.noAnswer, "the answer was lost") }
    return UploadResponse(
      status: status, body: Array((status == 400 ? #"{"error":"too old"}"# : "").utf8))
  }

  func take() -> [Form] {
    forms.withLock { forms in
      defer { forms = [] }
      return forms
    }
  }
}

@Suite struct SamplingTests {
  private let time = SharedTime()
  private let transport = FormTransport()

  private final class SharedTime: Sendable {
    let now = Mutex<Int64>(Int64(Date().timeIntervalSince1970) + 10)
  }

  private func options(whole: Int = 1, spread: Int = 0) -> UploadOptions {
    var options = UploadOptions()
    options.interval = .zero
    options.spread = .seconds(spread)
    var sampling = UploadSampling()
    sampling.wholeReports = whole
    options.sampling = sampling
    return options
  }

  private func standing(
    _ uploads: UploadDatabase, _ options: UploadOptions
  ) throws -> StandingUploads {
    let time = time
    return StandingUploads(
      engine: try uploads.engine(
        to: "http://h/", options: options, transport: transport,
        clock: UploadClock(
          now: { time.now.withLock { $0 } }, sleep: { _ in }, random: { 1 })))
  }

  @Test func beyondTheBoundASignaturesReportsAreOneFormWithTheirCount() async throws {
    let uploads = try UploadDatabase()
    for _ in 0..<7 { try uploads.addReport(signature: "A") }
    try uploads.addReport(signature: "B")
    let unknown = try uploads.addReport()
    var standing = try standing(uploads, options(whole: 2))
    _ = await standing.pass()
    let forms = transport.take()
    let ofA = forms.filter { $0.fields["report_signature"] == "A" }
    #expect(ofA.map(\.hasMinidump) == [true, true, false])
    #expect(ofA.map { $0.fields["report_count"] } == ["1", "1", "5"])
    #expect(ofA.map { $0.fields["minidump_left_out"] == nil } == [true, true, false])
    #expect(forms.filter { $0.fields["report_signature"] == "B" }.map(\.hasMinidump) == [true])
    // A report without a signature is sent whole and without a count.
    let other = try #require(forms.first { $0.fields["report_id"] == unknown.description })
    #expect(other.hasMinidump && other.fields["report_count"] == nil && forms.count == 5)
    let reports = try uploads.database.reports()
    #expect(reports.allSatisfy { $0.state == .completed })
    #expect(reports.filter { $0.upload.note.hasPrefix("counted with the upload of ") }.count == 4)
    // After the window, whole reports are sent again.
    time.now.withLock { $0 += 3601 }
    try uploads.addReport(signature: "A")
    _ = await standing.pass()
    #expect(transport.take().map(\.hasMinidump) == [true])
  }

  @Test func aCountThatWasSentIsTheSameWhenItIsSentAgainLaterReportsWait() async throws {
    let uploads = try UploadDatabase()
    for _ in 0..<4 { try uploads.addReport(signature: "A") }
    transport.answers.withLock { $0 = [200, 0] }
    var first = try standing(uploads, options())
    _ = await first.pass()
    #expect(transport.take().map { $0.fields["report_count"] } == ["1", "3"])
    for _ in 0..<2 { try uploads.addReport(signature: "A") }
    time.now.withLock { $0 += UploadBackoff.longest }
    // A second process that does not know the state of the first.
    var options = options()
    options.sampling?.window = .seconds(2 * UploadBackoff.longest)
    var next = try standing(uploads, options)
    _ = await next.pass()
    let forms = transport.take()
    #expect(forms.map { $0.fields["report_count"] } == ["2", "3"])
    #expect(forms.allSatisfy { !$0.hasMinidump })
    #expect(try uploads.database.reports().allSatisfy { $0.state == .completed })
  }

  @Test func whileTheServerTakesNoneNoMoreAreBegunWholeThanItWouldGetWhole() async throws {
    let uploads = try UploadDatabase()
    for _ in 0..<6 { try uploads.addReport(signature: "A") }
    transport.answers.withLock { $0 = [500, 500] }
    var standing = try standing(uploads, options(whole: 2))
    _ = await standing.pass()
    let forms = transport.take()
    #expect(forms.map(\.hasMinidump) == [true, true, false])
    #expect(forms.map { $0.fields["report_count"] } == ["1", "1", "4"])
    time.now.withLock { $0 += 3600 }
    _ = await standing.pass()
    #expect(transport.take().map(\.hasMinidump) == [true, true])
  }

  @Test func aRefusedCountLeavesItsReportsOnDiskOneThatIsAskedForGoesWhole() async throws {
    let uploads = try UploadDatabase()
    var ids: [ReportID] = []
    for _ in 0..<3 { ids.append(try uploads.addReport(signature: "A")) }
    transport.answers.withLock { $0 = [200, 400] }
    var standing = try standing(uploads, options())
    _ = await standing.pass()
    _ = transport.take()
    let reports = try uploads.database.reports()
    #expect(reports.allSatisfy { $0.state == .completed })
    #expect(reports.filter { $0.upload.isUploaded }.count == 1)
    let member = try #require(reports.first { $0.upload.note.hasPrefix("refused with ") })
    #expect(try uploads.database.requestUpload(member.id))
    _ = await standing.pass()
    let forms = transport.take()
    #expect(forms.map(\.hasMinidump) == [true])
    #expect(forms.first?.fields["report_id"] == member.id.description)
  }

  @Test func aReportThatOthersAreCountedWithKeepsTheCountWhenItIsAskedFor() async throws {
    let uploads = try UploadDatabase()
    for _ in 0..<4 { try uploads.addReport(signature: "A") }
    transport.answers.withLock { $0 = [200, 0] }
    var standing = try standing(uploads, options())
    _ = await standing.pass()
    _ = transport.take()
    let sent = try #require(
      try uploads.database.reports().first { $0.upload.countedWith == $0.id })
    #expect(try uploads.database.requestUpload(sent.id))
    // Without sampling, as for a manual upload.
    var options = options()
    options.sampling = nil
    var other = try self.standing(uploads, options)
    _ = await other.pass()
    let forms = transport.take()
    #expect(forms.map { $0.fields["report_count"] } == ["3"])
    #expect(forms.map(\.hasMinidump) == [true])
    #expect(try uploads.database.reports().allSatisfy { $0.state == .completed })
  }

  /// The server has a form with the report's ID, but not its minidump.
  @Test func theReportThatCarriesACountIsSentWholeWithThatCountWhenItIsAskedFor() async throws {
    let uploads = try UploadDatabase()
    for _ in 0..<4 { try uploads.addReport(signature: "A") }
    var standing = try standing(uploads, options())
    _ = await standing.pass()
    #expect(transport.take().map { $0.fields["report_count"] } == ["1", "3"])
    let reports = try uploads.database.reports()
    let carrier = try #require(reports.first { $0.upload.countedWith == $0.id })
    let whole = try #require(reports.first { $0.upload.countedWith == nil })
    #expect(try !uploads.database.requestUpload(whole.id))
    #expect(try uploads.database.requestUpload(carrier.id))
    _ = await standing.pass()
    let forms = transport.take()
    #expect(forms.map(\.hasMinidump) == [true])
    #expect(forms.map { $0.fields["report_id"] } == [carrier.id.description])
    #expect(forms.map { $0.fields["report_count"] } == ["3"])
    #expect(try !uploads.database.requestUpload(carrier.id))
    let after = try uploads.database.reports()
    #expect(after.allSatisfy { $0.state == .completed })
    #expect(after.filter { $0.upload.note.hasPrefix("counted with the upload of ") }.count == 2)
  }

  @Test func membersOfAReportThatWasDeletedAreSentThemselves() async throws {
    let uploads = try UploadDatabase()
    for _ in 0..<3 { try uploads.addReport(signature: "A") }
    transport.answers.withLock { $0 = [200, 0] }
    var standing = try standing(uploads, options())
    _ = await standing.pass()
    _ = transport.take()
    let sent = try #require(
      try uploads.database.reports().first { $0.upload.countedWith == $0.id })
    try uploads.database.delete(sent.id)
    _ = await standing.pass()
    #expect(transport.take().map { $0.fields["report_count"] } == ["1"])
  }

  @Test func theFirstUploadWaitsForAPartOfTheSpreadThatItsIDDecides() async throws {
    let uploads = try UploadDatabase()
    let id = try uploads.addReport(signature: "A")
    let created = try uploads.report(id).creationTime.seconds
    let standing = try standing(uploads, options(spread: 1000))
    let due = standing.engine.spreadTime(of: try uploads.report(id), created)
    let share = id.bytes.prefix(4).reduce(0) { $0 * 256 + Int64($1) }
    #expect(due == created + 1000 * share / (1 << 32))
    time.now.withLock { $0 = due - 1 }
    var waiting = standing
    if due > created {
      #expect(await waiting.pass() == 1 && transport.take().isEmpty)
    }
    time.now.withLock { $0 = due }
    _ = await waiting.pass()
    #expect(transport.take().count == 1)
    // A report from the future does not wait.
    #expect(standing.engine.spreadTime(of: try uploads.report(id), created - 1) == 0)
  }
}
