import CrashTestSupport
import DumpInspection
import Foundation
import IntermediateDump
import Stackwalk
import Testing

@testable import CrashAnalysis
@testable import CrashReport
@testable import ProcessSnapshot

/// Compares Docs/Reference/ReportSchema.json with encoded reports.
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
            count: try #require(ReferenceCount(3) { _ in nil }), size: 1, text: "text",
            elements: ["1: \"one\""]))),
      NotedWord(place: .stack(8), value: 0x5A5A, meaning: .pattern(.jemallocFreed)),
    ]
    full.allTasks = TaskOverviewTests.overview(frames: frames)
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

  /// The schema must reject these changes, because a schema that allows everything is useless.
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

  /// The words in the schema are the words in the code.
  @Test func hasTheWordsOfTheCode() throws {
    let schema = try Self.schema()
    func expect<Code: DumpCode>(_ type: Code.Type, _ property: String, of definition: String) {
      #expect(schema.words(property, of: definition) == Code.allCases.map(\.word), "\(type)")
    }
    expect(ModuleSource.self, "source", of: "module")
    expect(TaskState.self, "state", of: "taskGroup")
    let ends = [StackTrace.End.bottom, .lost, .limit, .noContext].map(\.rawValue)
    #expect(schema.words("stackEnd", of: "thread") == ends)
  }

  private static let path = BuiltProducts.packageRoot + "/Docs/Reference/ReportSchema.json"

  /// Adds a fact to the definition of a place: to the required ones, and as the first property.
  private static func add(_ fact: ReportNames, of place: String, type: String) throws {
    var text = try String(contentsOfFile: path, encoding: .utf8)
    for (mark, line) in [
      ("\"required\": [\n", "        \"\(fact.name)\",\n"),
      ("\"properties\": {\n", "        \"\(fact.name)\": {\"type\": [\"\(type)\", \"null\"]},\n"),
    ] {
      let definition = try #require(text.range(of: "\n    \"\(place)\": {\n"))
      let end = try #require(text.range(of: mark, range: definition.upperBound..<text.endIndex))
      text.insert(contentsOf: line, at: end.upperBound)
    }
    try text.write(toFile: path, atomically: true, encoding: .utf8)
  }

  /// Facts whose type in JSON differs from their type in the dump.
  private static let formed: [IntermediateDumpKey: String] = [
    .contextIsCut: "boolean", .descriptorIsDeleted: "boolean", .descriptorPathIsCut: "boolean",
    .previousHandlerIsBacktracer: "boolean", .isCoreFile: "boolean", .breadcrumbMetadata: "object",
    .notShown: "array",
    .runEndEvidence: "array", .sectionsAbandoned: "#/$defs/address", .threadState: "string",
  ]

  /// The JSON type of a fact, or the definition that it refers to.
  private static func type(of key: IntermediateDumpKey) -> String {
    if let form = formed[key] { return form }
    return switch key.kind {
    case .unsigned, .signed: key.definition.words.isEmpty ? "integer" : "string"
    case .address: "#/$defs/address"
    case .time: "#/$defs/time"
    case .text, .bytes: "string"
    case .map: "object"
    case .array: "array"
    }
  }

  /// A fact that reports show only because of its table row is also in the schema and in the list of fields.
  ///
  /// `UPDATE_DOCUMENTS=1 swift test --filter SchemaTests` writes a missing one into the schema.
  @Test func hasTheFactsOfTheRows() throws {
    let schema = try Self.schema()
    let isWriting = ProcessInfo.processInfo.environment["UPDATE_DOCUMENTS"] != nil
    let fields = try String(
      contentsOfFile: BuiltProducts.packageRoot + "/Docs/Reference/ReportFields.md", encoding: .utf8
    )
    for place in ReportNames.Place.allCases {
      let facts = ReportNames.all(in: place)
      #expect(!facts.isEmpty)
      for (key, fact) in facts {
        #expect(fields.contains("\(fact.name)`"), "\(fact.name) is not in ReportFields.md")
        let type = Self.type(of: key)
        let words = key == .privacy ? ["sanitized", "no-memory"] : key.definition.words
        if isWriting, !schema.has(fact.name, of: place.rawValue) {
          try Self.add(fact, of: place.rawValue, type: type)
        } else if words.isEmpty {
          #expect(
            schema.types(fact.name, of: place.rawValue).first == type, "\(place) \(fact.name)")
        } else {
          #expect(schema.words(fact.name, of: place.rawValue) == words, "\(place) \(fact.name)")
        }
      }
    }
  }

  /// JSON contains a dump's fact if the fact has a row: the value of each such key is shown under the row's name.
  @Test func everyFactIsShown() throws {
    var shown = Set(ProcessSnapshot.mapFields.shown.keys)
    shown.formUnion(ThreadSnapshot.mapFields.shown.keys)
    shown.formUnion(ExceptionSnapshot.mapFields.shown.keys)
    shown.formUnion(OpenDescriptor.mapFields.shown.keys)
    shown.formUnion(ClientAnnotation.mapFields.shown.keys)
    shown.formUnion(ClientInformation.Breadcrumb.mapFields.shown.keys)
    shown.formUnion(ClientInformation.Context.mapFields.shown.keys)
    shown.formUnion(ClientInformation.Attachment.mapFields.shown.keys)
    for key in IntermediateDumpKey.allCases where key.definition.fact != nil {
      #expect(shown.contains(key), "\(key)")
    }
    for (key, _) in IndexNames.all {
      #expect(ProcessSnapshot.mapFields.shown[key] != nil, "\(key)")
    }
  }
}
