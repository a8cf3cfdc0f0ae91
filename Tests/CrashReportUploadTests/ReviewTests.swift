import CrashReportDatabase
import CrashTestSupport
import IntermediateDump
import Synchronization
import Testing

@testable import CrashReportUpload

@Suite struct ReviewTests {
  private func engine(
    _ uploads: UploadDatabase, _ receiver: UploadReceiver, privacy: ReportPrivacy = .full,
    events: EventLog = EventLog(), review: UploadReview? = nil
  ) throws -> UploadEngine {
    var options = UploadOptions()
    options.fields = ["added": "by options"]
    options.privacy = privacy
    var engine = try uploads.engine(to: receiver.url, options: options, events: events)
    engine.review = review
    return engine
  }

  @Test func itMayChangeFields() async throws {
    let uploads = try UploadDatabase()
    let receiver = try UploadReceiver()
    let id = try uploads.addReport(annotations: ["user": "jane", "one": "1"])
    let engine = try engine(uploads, receiver) { candidate in
      #expect(candidate.attempt == 1 && candidate.id == candidate.report.id)
      #expect(candidate.fields["added"] == "by options" && candidate.fields["ver"] == "1.2")
      var fields = candidate.fields
      fields["user"] = nil
      fields["reviewed"] = "yes"
      fields["report_id"] = "another"
      return .send(fields: fields)
    }
    #expect(try await uploads.send(id, by: engine) == .uploaded)
    let fields = try #require(receiver.forms.first).fields
    #expect(fields["user"] == nil && fields["reviewed"] == "yes" && fields["one"] == "1")
    #expect(fields["report_id"] == id.description)
  }

  @Test func itMayHoldAReportBack() async throws {
    let uploads = try UploadDatabase()
    let receiver = try UploadReceiver()
    let id = try uploads.addReport()
    let events = EventLog()
    let engine = try engine(uploads, receiver, events: events) { _ in
      .hold(because: "a customer said no")
    }
    #expect(try await uploads.send(id, by: engine) == .heldBack)
    #expect(receiver.forms.isEmpty)
    let report = try uploads.report(id)
    #expect(report.state == .completed && !report.upload.isUploaded)
    #expect(report.upload.note == "held back: a customer said no")
    #expect(events.events.map(\.kind) == [.skipped])
    // If its upload is requested, the report is reviewed again.
    #expect(try uploads.database.requestUpload(id))
    #expect(try await uploads.send(id, by: self.engine(uploads, receiver)) == .uploaded)
  }

  @Test func itMayDelayAReportWithoutHoldingOthers() async throws {
    let uploads = try UploadDatabase()
    let receiver = try UploadReceiver()
    for _ in 0..<5 { try uploads.addReport() }
    let asked = Atomic(0)
    let engine = try engine(uploads, receiver) { candidate in
      asked.add(1, ordering: .relaxed).newValue < 5
        ? .delay(by: .seconds(3600), because: "not yet") : .send(fields: candidate.fields)
    }
    var options = engine.target.options
    options.interval = .zero
    var standing = StandingUploads(
      engine: UploadEngine(
        database: uploads.database, target: try UploadTarget(url: receiver.url, options: options),
        review: engine.review, emit: { _ in }))
    _ = await standing.pass()
    #expect(receiver.forms.count == 1)
    let pending = try uploads.database.reports().filter { $0.state == .pending }
    #expect(pending.count == 4)
    #expect(pending.allSatisfy { $0.upload.note == "held back: not yet" })
  }

  @Test func aPrivateUploadLeavesTheReportAsItIs() async throws {
    let uploads = try UploadDatabase()
    let receiver = try UploadReceiver()
    let id = try uploads.addReport(annotations: ["secret": "qX7-value-Rt5Lm2"])
    let before = try uploads.bytes(id)
    let engine = try engine(uploads, receiver, privacy: .sanitized)
    #expect(try await uploads.send(id, by: engine) == .uploaded)
    let form = try #require(receiver.forms.first)
    #expect(form.fields["secret"] == nil && form.fields["ver"] == "1.2")
    let sent = try #require(form.files["upload_file_minidump"])
    #expect(!String(decoding: sent, as: UTF8.self).contains("qX7-value"))
    #expect(String(decoding: before, as: UTF8.self).contains("qX7-value"))
    #expect(try uploads.bytes(id) == before)
    #expect(uploads.directory.names("db/new").isEmpty)
  }
}
