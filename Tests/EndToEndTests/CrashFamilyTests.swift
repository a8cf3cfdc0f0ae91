import CrashAnalysis
import CrashCatalogue
import CrashConverter
import CrashReport
import CrashReportDatabase
import CrashTestSupport
import Foundation
import IntermediateDump
import Minidump
import ProcessSnapshot
import Testing

/// One real crash of each family, from the signal to the report.
///
/// `swift run proofs` tests all kinds, and the upload of a report after its crash (`UploadCommandTests`).
@Suite struct CrashFamilyTests {
  private let directory: SharedDirectory
  private var database: String { directory.path + "/db" }

  init() throws {
    directory = try SharedDirectory()
  }

  @Test func aSignalAnAbortASwiftTrapAnOverflowTheSameEndAndOneReport() async throws {
    let alone = try #require(CrashCondition.all.first { $0.group == .place })
    let ends: [(String, CrashPlace)] = [
      ("null-read", .main), ("abort", .dispatch), ("fatal-error", .task),
      ("stack-overflow", .pthread),
    ]
    let cases = try ends.map { kind, place in
      let crash = try #require(KnownCrash.all.first { $0.kind == kind })
      return CatalogueCase(.crash(crash), alone, on: place, .asTested)
    }
    // All cases run together, so that the program's symbols are read only once.
    let results = CatalogueResults()
    try await CatalogueRun().run(cases) { outcome in
      results.add(outcome)
      for failure in outcome.failures { Issue.record("\(failure)") }
    }
    #expect(results.runs == ends.count)
  }

  @Test func aTornDumpIsAReportThatSaysSo() throws {
    _ = try Racer("HandlerOnlyVictim", [database, "abort"]).lines()
    let pending = database + "/pending-serialized-dumps/"
    let name = try #require(
      directory.names("db/pending-serialized-dumps").first {
        !$0.hasSuffix(".run") && !$0.hasSuffix(".fifo")
      })
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: pending + name))
    try file.truncate(atOffset: try file.seekToEnd() * 3 / 4)
    let processed = try processIntermediateDumps(database: database, storingSymbols: false)
    guard processed.count == 1, processed[0].outcome.kind == .torn else {
      Issue.record("\(processed)")
      return
    }
    let snapshot = try onlySnapshot()
    #expect(!snapshot.capture.isComplete)
    #expect(snapshot.exception?.signal == SIGABRT)
    #expect(snapshot.crashedThread?.stack.isEmpty == false)
  }

  @Test func aHangIsAReport() async throws {
    let victim = try BuiltProducts.besideTests("crash-lab")
    let child = try await ChildProcess.run(
      victim, ["hang", "heartbeat", "idle", "kept", "--database", database], in: directory.path,
      environment: ["SWIFT_BACKTRACE": "enable=no"])
    #expect(child.end.exitCode == 0, "\(child.standardOutput)\(child.standardError)")
    _ = try processIntermediateDumps(database: database, storingSymbols: false)
    let report = CrashReport(snapshot: try onlySnapshot(), symbolicating: false)
    #expect(report.snapshot.request?.kind == .hang)
    #expect(report.snapshot.exception?.signal == nil)
    // The main thread answered in the end, and the process continued.
    let explanation = try #require(report.explanation)
    #expect(
      explanation.contains(
        /had not answered for [0-9.]+ s \(the limit is [0-9.]+ s\)\.( |$)/), "\(explanation)")
  }

  @Test func aKilledRunIsReportedAsSuch() throws {
    _ = try Racer("HandlerOnlyVictim", [database, "killed"]).lines()
    let processed = try processIntermediateDumps(database: database, storingSymbols: false)
    #expect(processed.count == 1, "\(processed)")
    let snapshot = try onlySnapshot()
    #expect(snapshot.exception?.signal == nil)
    #expect(snapshot.end?.evidence.isEmpty == false)
  }

  private func onlySnapshot() throws -> ProcessSnapshot {
    let reports = try CrashReportDatabase(path: database).reports()
    try #require(reports.count == 1, "\(reports)")
    let bytes = try Data(contentsOf: URL(fileURLWithPath: reports[0].path))
    return try MinidumpReader.snapshot(of: [UInt8](bytes))
  }
}
