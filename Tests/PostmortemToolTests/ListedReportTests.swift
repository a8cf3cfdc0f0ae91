import CrashReportDatabase
import CrashTestSupport
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
