import CrashReportDatabase
import CrashTestSupport
import Foundation
import IntermediateDump
import Testing

/// Databases and collectors read the output of `postmortem export`, and the questions of
/// `Docs/Reference/Export.md` get the right answers.
@Suite struct ExportTests {
  /// A database of known reports, and its export.
  private struct Exported {
    let directory: SharedDirectory
    let fleet: FleetDatabase
    let seconds: Double
  }

  /// The shared database; it is made once for all tests.
  private static let shared = Task { () throws -> Exported in
    // Hard links work only within one file system.
    let directory = try SharedDirectory()
    let count = ProcessInfo.processInfo.environment["POSTMORTEM_EXPORT_REPORTS"].flatMap { Int($0) }
    let real = directory.path + "/real"
    try FileManager.default.createDirectory(atPath: real, withIntermediateDirectories: true)
    let kinds = ["null-read", "abort", "fatal-error", "index-out-of-range", "divide-by-zero"]
    let fleet = try FleetDatabase(
      of: try await FleetCommand.crash(kinds, in: real), at: directory.path + "/fleet",
      count: count ?? (ProofExtent.isSample ? 300 : 3000), hosts: 25)
    try fleet.make()
    let start = ContinuousClock.now
    try await export(["./fleet"], to: "crashes.ndjson", in: directory)
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    print("export of \(fleet.count) reports: \(seconds) s")
    return Exported(directory: directory, fleet: fleet, seconds: seconds)
  }

  private static func export(
    _ words: [String], to name: String, in directory: SharedDirectory, status: Int32 = 0
  ) async throws {
    let tool = try BuiltProducts.besideTests("postmortem")
    // The output goes to a file, as it would for users.
    let child = try await ChildProcess.run(
      "/bin/sh", ["-c", "out=$1; shift; exec \"$@\" > $out", "sh", name, tool, "export"] + words,
      in: directory.path, patience: 600)
    #expect(child.end.exitCode == status && child.standardError.isEmpty, "\(child.standardError)")
  }

  /// Runs the document's statements in an engine, and compares the answers with those that are known.
  private func ask(_ engine: QueryEngine) async throws {
    let exported = try await Self.shared.value
    let statements = try ExportDocument().statements(of: engine.rawValue)
    #expect(statements.count >= 7)
    let answers = try await engine.run(statements, in: exported.directory)
    print("\(engine.rawValue), seconds: \(answers.seconds.sorted { $0.key < $1.key })")
    let known = KnownAnswers(exported.fleet)
    let questions = statements.compactMap(\.name)
    #expect(Set(questions) == Set(answers.answers.keys))
    for question in questions {
      let expected = try #require(known.answer(to: question), "\(question)")
      var found = answers.answers[question] ?? []
      if question == "days" {
        // The engines write the time of day in different ways.
        for index in found.indices {
          if case .text(let day) = found[index][0] { found[index][0] = .text("\(day.prefix(10))") }
        }
      }
      #expect(!expected.isEmpty && found == expected, "\(question)")
    }
  }

  @Test(QueryEngine.duckDB.isNeeded)
  func duckDBAnswersTheQuestions() async throws { try await ask(.duckDB) }

  @Test(QueryEngine.clickHouse.isNeeded)
  func clickHousesEngineAnswersTheQuestions() async throws { try await ask(.clickHouse) }

  private struct LogRecord: Decodable {
    let time: Int64
    let severity: Int
    let body: String
    let resource: [String: AnswerCell]
    let attributes: [String: AnswerCell]
  }

  @Test(
    .enabled(
      if: DumpReaders.isWanted(DumpReaders.hasOpenTelemetry), "needs PyPI's opentelemetry-proto"))
  func openTelemetrysOwnTypesTakeEachLine() async throws {
    let exported = try await Self.shared.value
    let fleet = exported.fleet
    try await Self.export(
      ["./fleet", "--format", "otlp"], to: "otlp.ndjson", in: exported.directory)
    let records = try JSONDecoder().decode(
      [LogRecord].self,
      from: try await QueryEngine.python(["otlp", "otlp.ndjson"], in: exported.directory))
    #expect(records.count == fleet.count)
    let byTime = Dictionary(records.map { ($0.time, $0) }) { first, _ in first }
    for number in stride(from: 0, to: fleet.count, by: max(1, fleet.count / 100)) {
      let facts = fleet.facts(number)
      let details = try #require(facts.details)
      let record = try #require(byTime[fleet.time(number)])
      #expect(record.severity == 21 && !record.body.isEmpty)
      let resource: [String: String?] = [
        "service.name": fleet.program(number), "service.version": fleet.version(number),
        "host.name": fleet.host(number), "os.type": "linux",
        "process.executable.build_id.gnu": details[.buildID],
        "process.executable.name": "crash-lab",
      ]
      for (key, value) in resource { #expect(record.resource[key] == AnswerCell(value), "\(key)") }
      #expect(record.resource["process.pid"] == AnswerCell(number % 30_000))
      let attributes: [String: String?] = [
        "exception.type": facts.signalName, "postmortem.signature": facts.signature,
        "exception.stacktrace": details.stack.joined(separator: "\n"),
        "postmortem.tag.request": "\(number)",
      ]
      for (key, value) in attributes {
        #expect(record.attributes[key] == AnswerCell(value), "\(key)")
      }
      // If there is no message, the attribute is missing; it is not an empty text.
      #expect(record.attributes["exception.message"] == facts.message.map { AnswerCell($0) })
    }
  }

  @Test func aReportThatTwoDirectoriesHaveIsPrintedOnce() async throws {
    let exported = try await Self.shared.value
    try await Self.export(
      ["./fleet", "./fleet", "./real"], to: "copies.ndjson", in: exported.directory)
    let text = String(decoding: exported.directory.bytes("copies.ndjson") ?? [], as: UTF8.self)
    #expect(text.split(separator: "\n").count == exported.fleet.count + exported.fleet.bodies.count)
  }
}
