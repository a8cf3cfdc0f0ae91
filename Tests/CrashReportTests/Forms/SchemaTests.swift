import CrashTestSupport
import DumpInspection
import Foundation
import IntermediateDump
import Stackwalk
import Testing

@testable import CrashReport
@testable import ProcessSnapshot

/// Docs/Reference/ReportSchema.json against what reports are encoded as.
@Suite struct SchemaTests {
  static func schema() throws -> JSONSchema {
    try JSONSchema(path: BuiltProducts.packageRoot + "/Docs/Reference/ReportSchema.json")
  }

  @Test func describesEveryReport() throws {
    let schema = try Self.schema()
    var full = SampleReport.report(word: "word")
    full.snapshot.exception?.signalInfo = [UInt8](repeating: 1, count: 128)
    full.snapshot.system.loadAverage = "0.5 1 2 1/2 3"
    full.snapshot.request = DumpRequest()
    full.threads[0].trace.recursion = Recursion(period: 1, first: 2, count: 3)
    full.threads[0].snapshot.systemCall = "1 0x0"
    full.threads[0].task = .init(
      fields: .init(
        id: 1, name: "name", basePriority: 0x19, priority: 0x11, isCancelled: false, isChild: true),
      calls: AsyncCalls())
    let frames = full.threads[0].frames
    full.threads[0].task?.calls.frames = frames
    full.cause = Finding(cause: .abort, certainty: .likely, evidence: [.ownAbort])
    full.words = [
      NotedWord(
        place: .register("rdi"), value: 0x1000,
        meaning: .object(
          SwiftObject(
            kind: .object, type: TypeName("Basket"),
            count: try #require(ReferenceCount(3) { _ in nil }), size: 1, text: "text"))),
      NotedWord(place: .stack(8), value: 0x5A5A, meaning: .pattern(.jemallocFreed)),
    ]
    var sent = full
    sent.snapshot.exception?.code = 0
    var trapped = full
    trapped.snapshot.exception?.signal = 31
    trapped.snapshot.exception?.code = 1
    for report in [
      full, sent, trapped,
      CrashReport(snapshot: ProcessSnapshot(architecture: .arm64), symbolicating: false),
    ] {
      #expect(try schema.errors(in: report.json()) == [])
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
    let whole = SampleReport.report(word: "word").json()
    try #require(whole.contains(found))
    #expect(try Self.schema().errors(in: whole.replacing(found, with: changed)) != [])
  }

  /// The schema's words are the reader's.
  @Test func hasTheWordsOfTheCode() throws {
    let schema = try Self.schema()
    func expect<Code: DumpCode>(_ type: Code.Type, _ property: String, of definition: String) {
      #expect(schema.words(property, of: definition) == Code.allCases.map(\.word), "\(type)")
    }
    expect(CaptureMethod.self, "capturedBy", of: "thread")
    expect(SchedulingPolicy.self, "schedulingPolicy", of: "thread")
    expect(ModuleSource.self, "source", of: "module")
    expect(DescriptorKind.self, "kind", of: "descriptor")
    expect(SurvivalOutcome.self, "outcome", of: "survival")
    expect(RequestKind.self, "kind", of: "request")
    expect(HangTarget.self, "target", of: "request")
    expect(HangThreadEvidence.self, "threadEvidence", of: "request")
    expect(AnnotationType.self, "type", of: "annotation")
    expect(AnnotationState.self, "state", of: "annotation")
    expect(RunEndKind.self, "kind", of: "end")
    expect(RunEndCertainty.self, "certainty", of: "end")
    let ends = [StackTrace.End.bottom, .lost, .limit, .noContext].map(\.rawValue)
    #expect(schema.words("stackEnd", of: "thread") == ends)
  }

  private static let path = BuiltProducts.packageRoot + "/Docs/Reference/ReportSchema.json"

  /// Writes a fact into the definition of its place: among what is required, and as the first property.
  private static func add(_ fact: ReportFact, type: String) throws {
    var text = try String(contentsOfFile: path, encoding: .utf8)
    for (mark, line) in [
      ("\"required\": [\n", "        \"\(fact.name)\",\n"),
      ("\"properties\": {\n", "        \"\(fact.name)\": {\"type\": [\"\(type)\", \"null\"]},\n"),
    ] {
      let definition = try #require(text.range(of: "\n    \"\(fact.place.rawValue)\": {\n"))
      let end = try #require(text.range(of: mark, range: definition.upperBound..<text.endIndex))
      text.insert(contentsOf: line, at: end.upperBound)
    }
    try text.write(toFile: path, atomically: true, encoding: .utf8)
  }

  /// A fact that reports show by its row alone stands in the schema and in the list of fields, too.
  ///
  /// `UPDATE_DOCUMENTS=1 swift test --filter SchemaTests` writes one that is missing into the schema.
  @Test func hasTheFactsOfTheRows() throws {
    let schema = try Self.schema()
    let isWriting = ProcessInfo.processInfo.environment["UPDATE_DOCUMENTS"] != nil
    let fields = try String(
      contentsOfFile: BuiltProducts.packageRoot + "/Docs/Reference/ReportFields.md", encoding: .utf8
    )
    for place in ReportFact.Place.allCases {
      let facts = ReportFact.all(in: place)
      #expect(!facts.isEmpty)
      for (key, fact) in facts {
        #expect(fields.contains("\(fact.name)`"), "\(fact.name) is not in ReportFields.md")
        let type = key.kind == .text ? "string" : "integer"
        if isWriting, schema.types(fact.name, of: place.rawValue).isEmpty {
          try Self.add(fact, type: type)
        } else {
          #expect(schema.types(fact.name, of: place.rawValue).first == type, "\(fact.name)")
        }
      }
    }
  }
}
