import CrashConverter
import CrashTestSupport
import Foundation
import IntermediateDump
import Minidump
import ProcessSnapshot
import Testing

/// Every reader of a report gives the same cause, certainty, message, place and signature.
///
/// `ReaderTests` checks kinds of crashes, hangs and throws.
@Suite struct OneVerdictTests {
  private let directory: SharedDirectory
  private let tool: String

  init() throws {
    directory = try SharedDirectory()
    tool = try BuiltProducts.besideTests("postmortem")
  }

  private func crash(_ program: String, _ words: [String]) async throws -> String {
    let database = directory.path + "/\(UUID().uuidString)"
    _ = try await ChildProcess.run(
      try BuiltProducts.besideTests(program), words.map { $0 == "DATABASE" ? database : $0 },
      in: directory.path, environment: ["SWIFT_BACKTRACE": "enable=no"])
    return database
  }

  @Test(arguments: [
    ("HandlerOnlyVictim", ["DATABASE", "abort"]), ("HandlerOnlyVictim", ["DATABASE", "killed"]),
  ])
  func allReadersOfAReportGiveOneVerdict(_ program: String, _ words: [String]) async throws {
    let database = try await crash(program, words)
    let copy = database + "-copy"
    // Foundation would open and read the FIFOs of the dumps.
    let copying = try await ChildProcess.run(
      "/bin/cp", ["-a", database, copy], in: directory.path)
    try #require(copying.end.exitCode == 0, "\(copying.standardError)")
    // The program's own conversion, and the tool's.
    let processed = try processIntermediateDumps(database: database)
    try #require(processed.count == 1, "\(processed)")
    let id = processed[0].reportID.description
    let summary = try #require(processed[0].summary)
    let readers = try await ReportReaders(of: database, tool: tool, in: directory.path)
    let facts = try await readers.shown(id)
    // If the conversion ran out of time, it stores no verdict, and each reader makes the verdict from the files.
    let path = "\(database)/\(words.last == "killed" ? "completed" : "pending")/\(id).dmp"
    let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    if try MinidumpReader.snapshot(of: [UInt8](bytes)).storedVerdict != nil {
      #expect(facts["cause"] == summary.cause && facts["message"] == summary.message)
      #expect(facts["place"] == summary.place && facts["signature"] == summary.signature)
    }
    #expect(try await readers.disagreements(on: id, with: facts) == [])
    let after = try await ReportReaders(of: database, tool: tool, in: directory.path)
    #expect(try await after.disagreements(on: id, with: facts) == [], "after show")
    // A killed run's report says what the kernel had counted until the conversion.
    guard words.last != "killed" else { return }
    let child = try await ChildProcess.run(tool, ["process", copy], in: directory.path)
    #expect(child.end.exitCode == 0, "\(child.standardError)")
    let others = try await ReportReaders(of: copy, tool: tool, in: directory.path)
    #expect(try await others.disagreements(on: id, with: facts) == [], "converted by the tool")
  }
}
