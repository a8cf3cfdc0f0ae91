import CrashReportDatabase
import CrashTestSupport
import Foundation
import IntermediateDump
import Testing

/// Lines of reports that are not crashes, and of hostile dumps, load like others.
@Suite struct OddExportTests {
  private static let hostile = "\"\\\u{0}\n\t\u{1B}[31m\u{202E}é😀\u{9B}'; DROP TABLE crashes; --"

  /// A database with a crash, a dump of a process that continues, a hang that was killed, a run that was killed,
  /// and an unreadable dump.
  private static let shared = Task { () throws -> SharedDirectory in
    let victim = try await LiveVictim()
    _ = try await victim.lines("live-dump", "now")
    let child = try victim.start("hang", "heartbeat", "idle", "killed")
    _ = try await victim.waitForFile(endingIn: ".hang")
    child.kill()
    let killed = try victim.start("end", "wait")
    try killed.waitForLine("waiting")
    killed.kill()
    _ = try await victim.run("abort")
    _ = try await victim.process()
    let directory = try SharedDirectory()
    try FileManager.default.copyItem(atPath: victim.database, toPath: directory.path + "/db")
    let database = try CrashReportDatabase(path: directory.path + "/db")
    let reports = try database.reports()
    // Another crash, with hostile facts.
    let crash = try #require(reports.first { $0.state == .pending })
    let id = ReportID()
    try FileManager.default.copyItem(
      atPath: crash.path, toPath: "\(database.path)/pending/\(id).dmp")
    let copy = try #require(try database.report(id))
    ReportIndex.append(
      [(ReportIndex.Key(of: copy), hostileFacts)], in: try database.open())
    try directory.put([1, 2, 3], "db/pending/\(ReportID()).dmp")
    let tool = try BuiltProducts.besideTests("postmortem")
    for (format, name) in [("ndjson", "crashes.ndjson"), ("otlp", "otlp.ndjson")] {
      let script = "exec \"$0\" export ./db --format \(format) > \(name)"
      let child = try await ChildProcess.run("/bin/sh", ["-c", script, tool], in: directory.path)
      #expect(child.end.exitCode == 1 && child.standardError.contains("neither"))
    }
    return directory
  }

  private static var hostileFacts: ReportFacts {
    var facts = ReportFacts()
    (facts.program, facts.message, facts.signature) = (hostile, hostile, hostile)
    facts.time = Timestamp(nanoseconds: .max)
    var details = ReportDetails()
    details[text: .hostName] = hostile
    for fact in ReportDetails.Number.all { details[fact] = .max }
    details.kind = .crash
    details.tags = [.init(name: hostile, value: hostile), .init(name: "", value: "")]
    details.ownFrames = [hostile]
    facts.details = details
    return facts
  }

  private func ask(_ engine: QueryEngine) async throws {
    let directory = try await Self.shared.value
    let document = try ExportDocument().statements(of: engine.rawValue)
    func question(_ name: String, _ text: String) -> ExportDocument.Statement {
      .init(engine: engine.rawValue, name: name, text: text)
    }
    let answers = try await engine.run(
      document + [
        question("kinds", "SELECT kind, count(*) FROM crashes GROUP BY kind ORDER BY kind;"),
        question(
          "hostile",
          "SELECT message, host, frames[1], residentBytes FROM crashes WHERE threads > 1000000;"),
        question("hang", "SELECT hangSeconds >= 0.4 FROM crashes WHERE kind = 'hang';"),
        question("end", "SELECT cause IS NOT NULL FROM crashes WHERE kind = 'end';"),
        question(
          "broken", "SELECT error IS NULL, timeKnown FROM crashes WHERE kind = 'unreadable';"),
      ], in: directory
    ).answers
    let kinds = ["crash": 2, "dump": 1, "end": 1, "hang": 1, "unreadable": 1]
    #expect(
      answers["kinds"] == kinds.sorted { $0.key < $1.key }.map { [.text($0), AnswerCell($1)] })
    let text = AnswerCell(Self.hostile)
    #expect(answers["hostile"] == [[text, text, text, .number(Double(Int64.max))]])
    #expect(answers["hang"]?.map { $0[0].isTrue } == [true])
    #expect(answers["end"]?.map { $0[0].isTrue } == [true])
    #expect(answers["broken"]?.map { $0.map(\.isTrue) } == [[false, false]])
  }

  @Test(QueryEngine.duckDB.isNeeded)
  func duckDBLoadsThem() async throws { try await ask(.duckDB) }

  @Test(QueryEngine.clickHouse.isNeeded)
  func clickHousesEngineLoadsThem() async throws { try await ask(.clickHouse) }

  @Test(
    .enabled(
      if: DumpReaders.isWanted(DumpReaders.hasOpenTelemetry), "needs PyPI's opentelemetry-proto"))
  func openTelemetrysOwnTypesTakeThem() async throws {
    let directory = try await Self.shared.value
    struct LogRecord: Decodable {
      let severity: Int
      let attributes: [String: AnswerCell]
    }
    let records = try JSONDecoder().decode(
      [LogRecord].self, from: try await QueryEngine.python(["otlp", "otlp.ndjson"], in: directory))
    let bySeverity = Dictionary(grouping: records, by: \.severity)
    #expect(bySeverity.mapValues(\.count) == [21: 4, 17: 2])
    let text = AnswerCell(Self.hostile)
    #expect(records.contains { $0.attributes["exception.message"] == text })
    #expect(records.contains { $0.attributes["postmortem.tag." + Self.hostile] == text })
  }
}
