import CrashCatalogue
import CrashReportDatabase
import CrashTestSupport
import Foundation
import ProcessSnapshot
import Testing

/// A process with the handler that does not crash.
@Suite struct SteadyStateTests {
  @Test(arguments: BuildConfiguration.dynamic)
  func theHandlerRunsNoThreadNoTimerAndNoChild(_ configuration: BuildConfiguration) async throws {
    let victim = try await Victim(configuration)
    let child = try await victim.run(["idle", "--database", victim.database], in: "idle")
    #expect(child.end.exitCode == 0)
    #expect(
      child.standardOutput == "threads 1\ninterval-timers 0\nposix-timers 0\nchildren 0\n",
      "\(child.standardError)")
  }

  @Test func startingAgainIsAcceptedForTheSameDirectoryAndRefusedForAnother() async throws {
    let victim = try await Victim(.asTested)
    let child = try await victim.run(["start-again", "--database", victim.database], in: "again")
    #expect(child.end.exitCode == 0, "\(child.standardError)")
    let lines = child.standardOutput.split(separator: "\n")
    #expect(lines.first == "same directory: accepted")
    #expect(lines.count == 2 && lines[1].contains(victim.database), "\(lines)")
    #expect(lines.last != "other directory: accepted")
    #expect(!FileManager.default.fileExists(atPath: victim.database + "-other"))
  }

  @Test func aDirectoryThatCannotBeUsedIsAnErrorThatNamesIt() async throws {
    let victim = try await Victim(.asTested)
    let file = try victim.directory("unusable") + "/file"
    try "not a directory".write(toFile: file, atomically: true, encoding: .utf8)
    let child = try await victim.run(["abort", "--database", file], in: "unusable")
    // EX_CANTCREAT: crash-lab reports the error and exits.
    #expect(child.end.exitCode == 73)
    #expect(child.standardError.contains(file))
    #expect(try String(contentsOfFile: file, encoding: .utf8) == "not a directory")
  }

  @Test func aCleanEndLeavesNothingToReportAndTheNextStartRemovesWhatItLeft() async throws {
    for kind in ["exit", "quick-exit"] {
      let victim = try await Victim(.asTested)
      let child = try await victim.die(kind, on: .main)
      #expect(child.end.exitCode == 0)
      #expect(try await victim.process() == [])
      #expect(try victim.reports() == [])
      #expect(try victim.pendingFiles() == [])
    }
  }

  @Test func twoProcessesShareADatabaseAndTwoConvertersMakeEachDumpOneReport() async throws {
    let victim = try await Victim(.asTested)
    async let first = victim.run(["abort", "--database", victim.database], in: "first")
    async let second = victim.run(["null-read", "--database", victim.database], in: "second")
    let ends = try await [first.end.signal, second.end.signal]
    #expect(ends == [6, 11])
    async let one = victim.run(["process", "--database", victim.database], in: "one")
    async let other = victim.run(["process", "--database", victim.database], in: "other")
    let lines = try await (one.standardOutput + other.standardOutput).split(separator: "\n")
    // One of the two processes may find that the other is converting.
    #expect(lines.count { $0.tellsAWholeDump } == 2, "\(lines)")
    #expect(
      lines.allSatisfy { $0.tellsAWholeDump || $0.contains("left for now") }, "\(lines)")
    let reports = try victim.reports()
    #expect(reports.count == 2)
    let signals = try reports.map { try Victim.snapshot(of: $0).exception?.signal }
    #expect(Set(signals) == [6, 11])
    #expect(try victim.pendingFiles() == [])
  }

  @Test(arguments: [
    [], ["null-read"], ["no-such-kind", "--no-handler"], ["process"],
    ["null-read", "--no-handler", "--on", "nowhere"],
    ["abort", "--no-handler", "--threads", "-1"],
  ])
  func aCommandLineThatMakesNoSenseIsAUsageError(_ arguments: [String]) async throws {
    let victim = try await Victim(.asTested)
    let child = try await victim.run(arguments, in: "usage")
    #expect(child.end.exitCode == 64)
    #expect(child.standardError.contains("usage: crash-lab"))
  }
}
