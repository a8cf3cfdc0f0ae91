import CrashReportDatabase
import CrashTestSupport
import Foundation
import IntermediateDump
import Testing

@testable import PostmortemTool

/// Runs the built `postmortem export` on databases with real and broken reports.
@Suite struct ExportCommandTests {
  private let directory: SharedDirectory
  private var database: String { directory.path + "/db" }

  init() throws {
    directory = try SharedDirectory()
  }

  private func run(_ words: String...) async throws -> ChildProcess {
    try await ChildProcess.run(
      try BuiltProducts.besideTests("postmortem"), words, in: directory.path)
  }

  /// Makes reports of real crashes.
  private func crash(_ count: Int = 1, in database: String? = nil) async throws {
    let database = database ?? self.database
    for _ in 0..<count {
      let child = try await ChildProcess.run(
        try BuiltProducts.besideTests("HandlerOnlyVictim"), [database, "abort"], in: directory.path,
        environment: ["SWIFT_BACKTRACE": "enable=no"])
      try #require(child.end.signal == SIGABRT)
    }
    #expect(try await run("process", database).end.exitCode == 0)
  }

  private func lines(_ child: ChildProcess) throws -> [[String: Any]] {
    try child.standardOutput.split(separator: "\n").map { line in
      try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    }
  }

  /// The facts of each report except names, whose lookup is limited in time.
  private func facts(_ child: ChildProcess) throws -> Set<[String]> {
    let columns = [
      "reportID", "time", "message", "signal", "buildID", "host", "pid", "uptimeSeconds",
    ]
    return Set(try lines(child).map { line in columns.map { "\(line[$0] ?? "")" } })
  }

  /// The path of one report's minidump.
  private func report() throws -> StoredReport {
    try #require(try CrashReportDatabase(path: database).reports().first)
  }

  @Test func aLineHasEveryColumnOfTheTable() async throws {
    try await crash()
    let child = try await run("export", database)
    #expect(child.end.exitCode == 0 && child.standardError.isEmpty)
    let line = try #require(try lines(child).first)
    #expect(Set(line.keys) == Set(ExportColumn.all.map(\.name)))
    for column in ExportColumn.all {
      let value = try #require(line[column.name])
      if value is NSNull {
        #expect(column.isOptional, "\(column.name)")
        continue
      }
      switch column.kind {
      case .text, .word, .time: #expect(value is String, "\(column.name)")
      case .integer, .number: #expect(value is NSNumber, "\(column.name)")
      case .boolean: #expect(value is Bool, "\(column.name)")
      case .texts: #expect(value is [String], "\(column.name)")
      case .map: #expect(value is [String: String], "\(column.name)")
      }
    }
    #expect(line["kind"] as? String == "crash" && line["signal"] as? String == "SIGABRT")
    #expect(line["program"] as? String == "handler only")
    #expect((line["time"] as? String)?.wholeMatch(of: /2\d{3}-.*T.*\.\d{6}Z/) != nil)
    #expect((line["buildID"] as? String)?.wholeMatch(of: /[0-9a-f]{40}/) != nil)
    #expect((line["residentBytes"] as? Int ?? 0) > 100_000)
    #expect((line["uptimeSeconds"] as? Double).map { (0..<60).contains($0) } == true)
    #expect(line["complete"] as? Bool == true && line["error"] is NSNull)
    #expect((line["host"] as? String)?.isEmpty == false)
    #expect((line["frames"] as? [String])?.isEmpty == false)
    let report = try report()
    #expect(line["reportID"] as? String == report.id.description)
  }

  /// The index is missing, or is damaged.
  @Test func factsThatTheIndexLacksAreReadOnceAndKept() async throws {
    try await crash(2)
    let whole = try facts(try await run("export", database))
    // The conversion may have run out of time, so that the export has added a second record for each report.
    try FileManager.default.removeItem(atPath: database + "/reports.index")
    _ = try await run("export", database)
    let index = try #require(directory.bytes("db/reports.index"))
    for damage in [nil, [], Array(index.dropLast(3)), [1, 2, 3]] as [[UInt8]?] {
      try FileManager.default.removeItem(atPath: database + "/reports.index")
      if let damage { try directory.put(damage, "db/reports.index") }
      let again = try await run("export", database)
      #expect(again.end.exitCode == 0)
      #expect(try facts(again) == whole)
      let size = directory.bytes("db/reports.index")?.count ?? 0
      #expect(size >= index.count, "the records are added")
      #expect(try await run("export", database).standardOutput == again.standardOutput)
      #expect(directory.bytes("db/reports.index")?.count == size, "nothing is read again")
    }
  }

  @Test func aBrokenReportHasALineThatSaysSo() async throws {
    try await crash(2)
    let report = try report()
    try directory.put([1, 2, 3], "db/pending/\(report.id).dmp")
    let child = try await run("export", database)
    #expect(child.end.exitCode == 1)
    #expect(child.standardError.contains("neither an intermediate dump nor a minidump"))
    let lines = try lines(child)
    #expect(Set(lines.compactMap { $0["kind"] as? String }) == ["crash", "unreadable"])
    let broken = try #require(lines.first { $0["kind"] as? String == "unreadable" })
    #expect(broken["reportID"] as? String == report.id.description)
    #expect((broken["error"] as? String)?.contains("minidump") == true)
    #expect(broken["timeKnown"] as? Bool == false && broken["complete"] as? Bool == false)
    let otlp = try await run("export", database, "--format", "otlp")
    #expect(otlp.end.exitCode == 1)
    #expect(otlp.standardOutput.contains(#""stringValue":"unreadable""#))
  }

  /// Of two copies, one is broken: the intact one is printed, whichever directory is named first.
  @Test func aReportOfTwoDirectoriesIsPrintedOnce() async throws {
    try await crash(3)
    let copy = directory.path + "/copy"
    try FileManager.default.copyItem(atPath: database, toPath: copy)
    let report = try report()
    try directory.put([1, 2, 3], "db/pending/\(report.id).dmp")
    for order in [[database, copy], [copy, database]] {
      let child = try await run("export", order[0], order[1])
      #expect(child.end.exitCode == 0, "\(child.standardError)")
      let lines = try lines(child)
      #expect(Set(lines.compactMap { $0["reportID"] as? String }).count == 3)
      #expect(lines.count == 3 && lines.allSatisfy { $0["kind"] as? String == "crash" })
    }
  }

  @Test func textsOfADumpAreEscaped() async throws {
    try await crash()
    let report = try report()
    let store = try CrashReportDatabase(path: database)
    var facts = ReportFacts()
    facts.message = "\"\\\u{0}\n\u{1B}[31m\u{202E}é😀\u{9B}"
    facts.time = Timestamp(nanoseconds: -5)
    var details = ReportDetails()
    details.tags = [.init(name: "a\"b", value: "<script>"), .init(name: "a\"b", value: "twice")]
    details.inFlightValues = [
      .init(name: "a\"b", value: "outer"), .init(name: "id", value: "<b>"),
      .init(name: "a\"b", value: "inner"),
    ]
    (details[.tasks], details[.inFlight], details[.oldestInFlight]) = (7, 3, 43_500_000_000)
    details[.residentMemory] = .max
    details[.uptime] = .max
    facts.details = details
    ReportIndex.append([(ReportIndex.Key(of: report), facts)], in: try store.open())
    let child = try await run("export", database)
    let line = try #require(try lines(child).first)
    #expect(line["message"] as? String == facts.message)
    #expect(line["tags"] as? [String: String] == ["a\"b": "<script>"])
    #expect(line["inFlightValues"] as? [String: String] == ["a\"b": "inner", "id": "<b>"])
    #expect(line["tasks"] as? Int == 7 && line["inFlight"] as? Int == 3)
    #expect(line["inFlightSeconds"] as? Double == 43.5)
    #expect(line["residentBytes"] as? Int == .max && line["timeKnown"] as? Bool == false)
    let steering = child.standardOutput.unicodeScalars.filter {
      $0.value < 0x20 && $0 != "\n" || (0x7F..<0xA0).contains($0.value) || $0.value == 0x202E
    }
    #expect(steering.isEmpty)
    let otlp = try await run("export", database, "--format", "otlp")
    #expect(try lines(otlp).count == 1)
    for attribute in [
      #"{"key":"postmortem.tasks","value":{"intValue":"7"}}"#,
      #"{"key":"postmortem.in_flight.age","value":{"doubleValue":43.500}}"#,
      #"{"key":"postmortem.in_flight.value.id","value":{"stringValue":"<b>"}}"#,
    ] { #expect(otlp.standardOutput.contains(attribute), "\(otlp.standardOutput)") }
  }

  @Test func sinceAndPlacesAreThoseOfList() async throws {
    try await crash()
    #expect(try await run("export", database, "--since", "1h").standardOutput != "")
    let none = try await run("export", database, "--since", "2200-01-01")
    #expect(none.end.exitCode == 0 && none.standardOutput == "")
    for words in [["--since", "whenever"], ["--format", "csv"], ["--json", "--format", "otlp"]] {
      #expect(try await run("export", database, words[0], words[1]).end.exitCode == 64, "\(words)")
    }
    let other = try await run("export", database, directory.path)
    #expect(other.end.exitCode == 1 && other.standardError.contains("not a crash database"))
    #expect(other.standardOutput == "")
    #expect(try await run("export", "/nonexistent").end.exitCode == 1)
    #expect(try await run("export").end.exitCode == 64)
    let tool = try BuiltProducts.besideTests("postmortem")
    let full = try await ChildProcess.run(
      "/bin/sh", ["-c", "exec \"$0\" export \"$1\" > /dev/full", tool, database],
      in: directory.path)
    #expect(full.end.exitCode == 1 && full.standardError.contains("No space left"))
    let variable = try await ChildProcess.run(
      tool, ["export"], in: directory.path, environment: ["POSTMORTEM_DATABASE": database])
    #expect(try lines(variable).count == 1)
  }
}
