import CrashConverter
import CrashReportDatabase
import CrashTestSupport
import Foundation
import Glibc
import IntermediateDump
import Minidump
import ProcessSnapshot
import Testing

/// The guarantees that hold wherever a converter is killed.
@Suite(.needs(.strace))
struct KilledConverterTests {
  /// Makes a database with one dump, like after a crash.
  private func makeDumps() throws -> (PendingDatabase, ReportID) {
    let dumps = try PendingDatabase(inMemory: true)
    let id = try dumps.putDump()
    try dumps.putRecord(id, processID: 1, startTime: 1, bootID: "another", namespace: 1)
    try #require(unsafe mkfifo(dumps.path(of: "app@\(id).fifo"), 0o600) == 0)
    return (dumps, id)
  }

  @Test func aDumpGoesOnlyWhenItsReportWouldSurviveAPowerCut() async throws {
    let (dumps, id) = try makeDumps()
    let trace = try await SystemCallTrace(database: dumps.path)
    let new = "\(dumps.path)/new/\(id).dmp"
    let fileIsSafe = try #require(trace.index(of: "fsync", with: "<\(new)>"))
    let metadata = try #require(
      trace.index(of: "linkat", "renameat", "renameat2", with: "/pending>, \"\(id).meta\""))
    let report = try #require(
      trace.index(of: "linkat", "renameat", "renameat2", with: "/pending>, \"\(id).dmp\""))
    let directoryIsSafe = try #require(
      trace.index(of: "fsync", after: report, with: "<\(dumps.path)/pending>"))
    let removed = try #require(
      trace.index(of: "unlinkat", with: "pending-serialized-dumps>, \"app@\(id)."))
    #expect(fileIsSafe < report && metadata < report)
    #expect(report < directoryIsSafe && directoryIsSafe < removed)
    #expect(trace.calls[removed].line.contains(".claimed"))
    // The converter writes nothing to the file after it has been synced.
    let late = trace.calls[fileIsSafe...].filter {
      ["write", "pwrite64", "writev", "ftruncate"].contains($0.name) && $0.line.contains(new)
    }
    #expect(late.isEmpty, "\(late.map(\.line))")
  }

  /// Stores a report with the dump's ID but other contents.
  private func putReport(_ id: ReportID, in dumps: PendingDatabase) throws {
    var snapshot = ProcessSnapshot(architecture: .x86_64)
    snapshot.end = RunEnd()
    snapshot.reportID = id
    let report = try CrashReportDatabase(path: dumps.path).prepareNewReport(id)
    try MinidumpWriter.write(snapshot, to: report.descriptor)
    try report.finish()
  }

  @Test(arguments: [false, true])
  func atEverySystemCallNoDumpIsLostNoneBecomesTwoReports(hasOtherReport: Bool) async throws {
    let (sample, sampleID) = try makeDumps()
    if hasOtherReport { try putReport(sampleID, in: sample) }
    let calls = try await SystemCallTrace(database: sample.path).changes
    #expect(calls.count > 20)
    var killed = 0
    for call in calls {
      let (dumps, dumpID) = try makeDumps()
      if hasOtherReport { try putReport(dumpID, in: dumps) }
      if try await SystemCallTrace.kill(at: call, database: dumps.path) { killed += 1 }
      let processed = try processIntermediateDumps(database: dumps.path, identifier: "app")
      #expect(processed.allSatisfy { $0.outcome == .complete }, "\(call.line): \(processed)")
      let id =
        hasOtherReport ? dumpID.other(for: DumpDigest.of(PendingDatabase.complete)) : dumpID
      let reports = try dumps.reports.filter { $0.state != .new }
        .filter { !hasOtherReport || $0.id != dumpID }
      #expect(reports.map(\.id) == [id], "\(call.line)")
      if let report = reports.first {
        let bytes = try #require(FileManager.default.contents(atPath: report.path))
        let snapshot = try MinidumpReader.snapshot(of: Array(bytes))
        #expect(snapshot.capture.isComplete && snapshot.exception?.signal == 11, "\(call.line)")
      }
      #expect(
        dumps.names.allSatisfy { $0.hasSuffix(".run") || $0.hasSuffix(".fifo") },
        "\(call.line): \(dumps.names)")
      #expect(dumps.directory.names("quarantine").isEmpty, "\(call.line)")
    }
    // Every run made the call at which it had to be killed.
    #expect(killed == calls.count)
  }
}
