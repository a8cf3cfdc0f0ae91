import CrashTestSupport
import Foundation
import ProcessSnapshot
import Stackwalk
import Testing

@testable import CrashReport

/// Docs/ReportSchema.json against what reports are encoded as.
@Suite struct SchemaTests {
  static func schema() throws -> JSONSchema {
    try JSONSchema(path: BuiltProducts.packageRoot + "/Docs/ReportSchema.json")
  }

  private func json(_ report: CrashReport) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return String(decoding: try encoder.encode(report), as: UTF8.self)
  }

  @Test func describesEveryReport() throws {
    let schema = try Self.schema()
    var full = SampleReport.report(word: "word")
    full.exception?.sender = .init(pid: 1, uid: 2)
    full.exception?.systemCall = .init(number: 1, architecture: .x86_64)
    full.threads[0].recursion = .init(period: 1, first: 2, count: 3, estimatedInGap: nil)
    full.threads[0].systemCall = .init(number: 1, architecture: .x86_64)
    full.threads[0].task = .init(
      id: 1, name: "name", priority: "low", basePriority: nil, cancelled: false, child: true,
      calleeIndex: 0, frames: full.threads[0].frames, framesOmitted: 0, framesOmittedAfter: 0,
      framesCut: false)
    full.cause = .init(
      Finding(kind: "abort", certainty: .likely, text: "text", evidence: ["fact"]))
    full.resources?.loadAverage = [0.5, 1, 2]
    full.request = .init(DumpRequest())
    for report in [
      full, CrashReport(snapshot: ProcessSnapshot(architecture: .arm64), symbolicating: false),
    ] {
      #expect(try schema.errors(in: json(report)) == [])
    }
  }

  /// A schema that allows everything would be none.
  @Test(
    arguments: [
      ("\"schemaVersion\":1", "\"schemaVersion\":2"), ("\"complete\":false", "\"complete\":0"),
      ("\"crashed\":true", "\"crashed\":null"), ("\"protection\":\"r-x\"", "\"protection\":\"rx\""),
      ("\"access\":\"read\"", "\"access\":\"look\""), ("\"code\":1", "\"cod\":1"),
      ("\"framesOmitted\":0", "\"framesOmitted\":-1"), ("\"line\":1,", "\"line\":1.5,"),
      ("\"address\":\"0x18\"", "\"address\":\"18\""), ("\"pid\":100", "\"pid\":\"100\""),
    ])
  func refusesWhatIsNone(found: String, changed: String) throws {
    let whole = try json(SampleReport.report(word: "word"))
    try #require(whole.contains(found))
    #expect(try Self.schema().errors(in: whole.replacing(found, with: changed)) != [])
  }

  /// The schema's words are the reader's.
  @Test func hasTheWordsOfTheCode() throws {
    let schema = try Self.schema()
    let ways = (1...5).compactMap { ThreadSnapshot.CaptureMethod(rawValue: $0)?.name }
    #expect(schema.words("capturedBy", of: "thread") == ways)
    let ends = [StackTrace.End.bottom, .lost, .limit, .noContext].map(\.rawValue)
    #expect(schema.words("stackEnd", of: "thread") == ends)
  }
}
