import CrashAnalysis
import CrashReport
import CrashReportDatabase
import CrashTestSupport
import IntermediateDump
import ProcessSnapshot
import Testing

@testable import CrashReportUpload

/// For any report, the event is within the limits of the protocol.
@Suite struct SentryLimitTests {
  private static let long = String(repeating: "Größe ", count: 2000)
  /// Longer than any name may be, and shorter than `long`, because there are very many of it.
  private static let name = String(repeating: "Größe ", count: 100)

  /// A report with far more of everything than the protocol allows.
  private static let event = {
    var snapshot = SyntheticProcess.snapshot()
    snapshot.exception?.fatalMessage = Self.long
    snapshot.system.hostName = Self.long
    snapshot.process.product = Self.long
    snapshot.process.environment = Self.long
    snapshot.process.commandLine = Array(Self.long.utf8)
    for number in 0..<300 {
      var thread = snapshot.threads[0]
      thread.id = UInt32(10_000 + number)
      thread.name = Self.name
      snapshot.threads.append(thread)
    }
    for number in 0..<150 {
      var crumb = ClientInformation.Breadcrumb(text: "\(number) " + Self.long)
      crumb.time = Int64(number) * 1_000_000
      snapshot.client.breadcrumbs.append(crumb)
    }
    for number in 0..<1100 {
      snapshot.modules.append(
        ModuleSnapshot(
          address: Address(0x7000_0000_0000 + UInt64(number) * 0x10000), size: 0x1000,
          path: "/\(number)" + Self.name, buildID: [UInt8(truncatingIfNeeded: number), 1]))
    }
    let fields = Dictionary(
      uniqueKeysWithValues: (0..<300).map { ("\($0)" + Self.name, Self.name) })
    return SentryEvent(
      report: CrashReport(snapshot: snapshot, symbolicating: false), reportID: ReportID(),
      fields: fields)
  }()

  private func texts(_ value: SentryValue) -> [String] {
    switch value {
    case .text(let text): [text]
    case .array(let elements): elements.flatMap(texts)
    case .object(let members): members.flatMap { [$0.name] + texts($0.value) }
    default: []
    }
  }

  @Test func theEventIsSmallEnoughAndAlwaysTheSame() {
    let event = Self.event
    let json = event.json
    #expect(json.count <= SentryLimits.eventSize && json.count > 10_000)
    #expect(json == event.json)
    let value = event.value(SentryCuts.ladder[0])
    #expect(value.json.count > SentryLimits.eventSize, "else nothing was cut here")
    #expect(texts(value).allSatisfy { $0.unicodeScalars.count <= SentryLimits.message })
  }

  @Test func everyStepLeavesLessThanTheOneBefore() {
    let sizes = SentryCuts.ladder.map { Self.event.value($0).json.count }
    for (before, after) in zip(sizes, sizes.dropFirst()) { #expect(after <= before, "\(sizes)") }
    #expect(Set(SentryCuts.ladder.map { "\($0)" }).count == SentryCuts.ladder.count)
    #expect(sizes.last ?? .max < SentryLimits.eventSize / 2)
  }

  @Test func whatMattersMostStays() throws {
    let value = Self.event.value(SentryCuts.last)
    let exception = try #require(value["exception"]?["values"]?.elements.last)
    #expect(exception["value"]?.string?.count == SentryLimits.message)
    #expect(exception["stacktrace"]?["frames"]?.elements.isEmpty == false)
    #expect(exception["stacktrace"]?["registers"] != nil)
    #expect(value["tags"]?["signal"] == "SIGSEGV" && value["fingerprint"] != nil)
    let crumbs = try #require(value["breadcrumbs"]?["values"]?.elements)
    #expect(crumbs.count == 10)
    #expect(crumbs.last?["message"]?.string?.hasPrefix("149 ") == true, "the newest stay")
  }

  @Test func textsAreCutByScalars() {
    #expect(SentryLimits.cut("abc", 3) == "abc" && SentryLimits.cut("abcd", 3) == "ab…")
    #expect(SentryLimits.cut("a\0b", 9) == "ab")
    #expect(SentryLimits.tagName("a b/ü") == "a_b___" && SentryLimits.tagValue("a\r\nb") == "a b")
    #expect(SentryLimits.word("a/b\nc", 9) == "a-b-c")
    for text in ["", " ", ".", "..", "latest"] { #expect(SentryLimits.word(text, 9) == nil) }
    #expect(SentryLimits.word(Self.long, 64)?.unicodeScalars.count ?? 0 <= 64)
  }

  @Test func attachmentsBeyondTheBoundStayBehindTheLargestFirstAndTheMinidumpLast() throws {
    let uploads = try UploadDatabase()
    let id = try uploads.addReport(extra: SentryLimits.attachmentSize - 1_000_000)
    for (name, count) in [("small", 10), ("large", 2_000_000)] {
      try uploads.directory.put([UInt8](repeating: 7, count: count), name)
      _ = try uploads.database.attach(
        uploads.directory.path + "/" + name, as: name, to: id, limit: .max)
    }
    let target = try UploadTarget(dsn: "http://k@h/1", options: UploadOptions())
    let content = try target.server.content(
      of: try uploads.report(id), in: uploads.database, target.options, .none, at: 0)
    func names(_ content: (any UploadContent)?) throws -> [String] {
      var text = ""
      try content?.write(
        at: 0, to: { text += String(decoding: $0, as: UTF8.self) }, contents: { _ in "" })
      return text.matches(of: /"filename":"([^"]+)"/).map { String($0.1) }
    }
    #expect(try names(content) == ["\(id).dmp", "small"])
    #expect(try names(content.smaller) == ["\(id).dmp"])
    #expect(try names(content.smaller?.smaller) == [])
    #expect(content.smaller?.smaller?.smaller == nil)
  }
}
