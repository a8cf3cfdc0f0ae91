import CrashCatalogue
import CrashReportDatabase
import CrashTestSupport
import Foundation
import ProcessSnapshot
import Testing

/// A process whose handler is in and that does not crash.
@Suite("No crash")
struct SteadyStateTests {
  @Test("The handler runs no thread, no timer and no child", arguments: BuildConfiguration.dynamic)
  func idle(_ configuration: BuildConfiguration) async throws {
    let victim = try await Victim(configuration)
    let child = try await victim.run(["idle", "--database", victim.database], in: "idle")
    #expect(child.end.exitCode == 0)
    #expect(
      child.standardOutput == "threads 1\ninterval-timers 0\nposix-timers 0\nchildren 0\n",
      "\(child.standardError)")
  }

  @Test("Starting again is accepted for the same directory and refused for another")
  func startAgain() async throws {
    let victim = try await Victim(.asTested)
    let child = try await victim.run(["start-again", "--database", victim.database], in: "again")
    #expect(child.end.exitCode == 0, "\(child.standardError)")
    let lines = child.standardOutput.split(separator: "\n")
    #expect(lines.first == "same directory: accepted")
    #expect(lines.count == 2 && lines[1].contains(victim.database), "\(lines)")
    #expect(lines.last != "other directory: accepted")
    #expect(!FileManager.default.fileExists(atPath: victim.database + "-other"))
  }

  @Test("A directory that cannot be used is an error that names it")
  func unusableDirectory() async throws {
    let victim = try await Victim(.asTested)
    let file = try victim.directory("unusable") + "/file"
    try "not a directory".write(toFile: file, atomically: true, encoding: .utf8)
    let child = try await victim.run(["abort", "--database", file], in: "unusable")
    // EX_CANTCREAT: crash-lab reports the error and does not go on.
    #expect(child.end.exitCode == 73)
    #expect(child.standardError.contains(file))
    #expect(try String(contentsOfFile: file, encoding: .utf8) == "not a directory")
  }

  @Test("A clean end leaves nothing to report, and the next start removes what it left")
  func cleanEnd() async throws {
    for kind in ["exit", "quick-exit"] {
      let victim = try await Victim(.asTested)
      let child = try await victim.die(kind, on: .main)
      #expect(child.end.exitCode == 0)
      #expect(try await victim.process() == [])
      #expect(try victim.reports() == [])
      #expect(try victim.pendingFiles() == [])
    }
  }

  @Test("Two processes share a database, and two converters make each dump one report")
  func sharedDatabase() async throws {
    let victim = try await Victim(.asTested)
    async let first = victim.run(["abort", "--database", victim.database], in: "first")
    async let second = victim.run(["null-read", "--database", victim.database], in: "second")
    let ends = try await [first.end.signal, second.end.signal]
    #expect(ends == [6, 11])
    async let one = victim.run(["process", "--database", victim.database], in: "one")
    async let other = victim.run(["process", "--database", victim.database], in: "other")
    let lines = try await (one.standardOutput + other.standardOutput).split(separator: "\n")
    // One of the two may see what the other has at work.
    #expect(lines.count { $0.tellsAWholeDump } == 2, "\(lines)")
    #expect(
      lines.allSatisfy { $0.tellsAWholeDump || $0.contains("left for now") }, "\(lines)")
    let reports = try victim.reports()
    #expect(reports.count == 2)
    let signals = try reports.map { try Victim.snapshot(of: $0).exception?.signal }
    #expect(Set(signals) == [6, 11])
    #expect(try victim.pendingFiles() == [])
  }

  @Test(
    "A command line that makes no sense is a usage error",
    arguments: [
      [], ["null-read"], ["no-such-kind", "--no-handler"], ["process"],
      ["null-read", "--no-handler", "--on", "nowhere"],
      ["abort", "--no-handler", "--threads", "-1"],
    ])
  func usage(_ arguments: [String]) async throws {
    let victim = try await Victim(.asTested)
    let child = try await victim.run(arguments, in: "usage")
    #expect(child.end.exitCode == 64)
    #expect(child.standardError.contains("usage: crash-lab"))
  }
}
