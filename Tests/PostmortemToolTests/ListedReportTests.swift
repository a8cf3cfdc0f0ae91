import CrashReportDatabase
import CrashTestSupport
import Foundation
import IntermediateDump
import Testing

@testable import PostmortemTool

/// The order of lists that several threads build.
@Suite struct ListedReportTests {
  @Test func elementsMoveToTheirPlaces() {
    var generator = SystemRandomNumberGenerator()
    for count in 0..<60 {
      let values = (0..<count).map { "value \($0)" }
      let sources = Array(values.indices).shuffled(using: &generator)
      var moved = values
      moved.permute(sources)
      #expect(moved == sources.map { values[$0] })
    }
  }

  /// A receiver replaces times more than 30 days ago, and times in the future.
  @Test func oldAndDoubtfulTimesAreMarked() async throws {
    let directory = try SharedDirectory(inMemory: true)
    let database = try CrashReportDatabase(path: directory.path)
    let now = Timestamp.now
    let day: Int64 = 86_400
    let times: [(seconds: Int64, mark: ListRow.TimeMark?)] = [
      (5, .doubtful), (now.seconds - 31 * day, .old), (now.seconds - 29 * day, nil),
      (now.seconds, nil), (now.seconds + 30, nil), (now.seconds + 300, .doubtful),
      (.max / 1_000_000_000, .doubtful),
    ]
    var records: [(key: ReportIndex.Key, facts: ReportFacts)] = []
    for (seconds, mark) in times {
      let report = try database.prepareNewReport(ReportID())
      let id = report.id
      try report.finish()
      var facts = ReportFacts()
      facts.time = Timestamp(seconds: seconds)
      let stored = try #require(try database.report(id))
      #expect(
        ListRow(ListedReport(stored: stored, facts: facts)).timeMark(now: now) == mark, "\(seconds)"
      )
      records.append((ReportIndex.Key(of: stored), facts))
    }
    ReportIndex.append(records, in: try database.open())
    let tool = try BuiltProducts.besideTests("postmortem")
    let lines = try await ChildProcess.run(tool, ["list", directory.path], in: directory.path)
    let ends = lines.standardOutput.split(separator: "\n").map { line in
      ["  time old", "  time doubtful"].first(where: line.hasSuffix) ?? ""
    }
    #expect(
      ends == times.map { $0.mark.map { "  time \($0.rawValue)" } ?? "" }, "\(lines.standardOutput)"
    )
    let json = try await ChildProcess.run(
      tool, ["list", directory.path, "--json"], in: directory.path)
    let entries = try JSONDecoder().decode(
      [ReportEntry].self, from: Data(json.standardOutput.utf8))
    #expect(entries.map(\.timeMark) == times.map(\.mark))
  }

  /// The clock was ahead at the crash, and was set before the report was created.
  @Test func aCrashAfterItsReportIsDoubtful() throws {
    let directory = try SharedDirectory(inMemory: true)
    let database = try CrashReportDatabase(path: directory.path)
    let report = try database.prepareNewReport(ReportID())
    let id = report.id
    try report.finish()
    let stored = try #require(try database.report(id))
    var facts = ReportFacts()
    facts.time = Timestamp(seconds: stored.creationTime.seconds + 600)
    let later = Timestamp(seconds: stored.creationTime.seconds + 86_400)
    #expect(ListRow(ListedReport(stored: stored, facts: facts)).timeMark(now: later) == .doubtful)
  }

  /// The list has more reports than one of its pieces.
  @Test func aLongListIsInTheOrderOfTheCrashes() async throws {
    let directory = try SharedDirectory(inMemory: true)
    let database = try CrashReportDatabase(path: directory.path)
    let count = 4100
    var records: [(key: ReportIndex.Key, facts: ReportFacts)] = []
    var expected = Array(repeating: "", count: count)
    for number in 0..<count {
      let report = try database.prepareNewReport(ReportID())
      let id = report.id
      try report.finish()
      var facts = ReportFacts()
      // Each second occurs once, in an order that no directory has.
      let second = number * 1009 % count
      facts.time = Timestamp(nanoseconds: Int64(second) * 1_000_000_000)
      facts.program = "\(number)"
      expected[second] = "\(number)"
      records.append((ReportIndex.Key(of: try #require(try database.report(id))), facts))
    }
    ReportIndex.append(records, in: try database.open())
    let child = try await ChildProcess.run(
      try BuiltProducts.besideTests("postmortem"), ["list", directory.path], in: directory.path)
    let programs = child.standardOutput.split(separator: "\n").map {
      $0.split(separator: " ", omittingEmptySubsequences: true)[6]
    }
    #expect(programs.map(String.init) == expected)
  }
}
