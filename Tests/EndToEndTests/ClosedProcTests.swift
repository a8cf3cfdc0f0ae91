import CrashAnalysis
import CrashConverter
import CrashReport
import CrashReportDatabase
import CrashTestSupport
import Foundation
import Minidump
import ProcessSnapshot
import Testing

/// Crashes of processes for which /proc shows less: the first thread has ended, or /proc was closed after the
/// start.
@Suite struct ClosedProcTests {
  private let directory = try! SharedDirectory()
  private var database: String { directory.path + "/db" }

  private func crash(
    _ condition: String, _ kind: String, on place: String, _ more: String...
  ) async throws -> CrashReport {
    let child = try await ChildProcess.run(
      try BuiltProducts.besideTests("crash-lab"),
      [
        kind, "--on", place, "--threads", "3", "--condition", condition, "--database", database,
        "--no-summary",
      ] + more, in: directory.path, environment: ["SWIFT_BACKTRACE": "enable=no"])
    #expect(child.end.signal == SIGSEGV, "\(child)")
    let processed = try processIntermediateDumps(database: database, storingSymbols: false)
    #expect(processed.map(\.outcome) == [.complete], "\(processed)")
    let reports = try CrashReportDatabase(path: database).reports()
    try #require(reports.count == 1)
    let bytes = try Data(contentsOf: URL(fileURLWithPath: reports[0].path))
    return CrashReport(
      snapshot: try MinidumpReader.snapshot(of: [UInt8](bytes)), symbolicating: false)
  }

  @Test func onceTheFirstThreadHasEndedALivingOneShowsMemoryModulesAndDescriptors() async throws {
    let report = try await crash("first-thread-ended", "stack-overflow", on: "pthread")
    let snapshot = report.snapshot
    #expect(report.cause?.kind == "stack-overflow", "\(report.explanation ?? "")")
    let victim = try BuiltProducts.besideTests("crash-lab")
    #expect(snapshot.modules.contains { $0.path == victim })
    #expect(snapshot.process.mappingCount ?? 0 > 20)
    #expect(snapshot.process.descriptorCount ?? 0 > 3)
    #expect(snapshot.process.descriptors.count > 3)
    #expect(snapshot.process.workingDirectory != nil)
    // The status is the process's own; the memory numbers are read through a live thread.
    #expect(snapshot.process.residentMemory ?? 0 > 0)
    let id = try #require(snapshot.process.processID)
    #expect(
      snapshot.process.statusText.map { String(decoding: $0, as: UTF8.self) }?
        .contains("\nPid:\t\(id)\n") == true)
    #expect(snapshot.capture.notShown == nil)
  }

  /// The handler appends the status text of a live thread to that of the process.
  @Test func aSanitizedDumpHasNoThreadsNameAndNoUsersIDInEitherStatusText() async throws {
    let report = try await crash(
      "first-thread-ended", "null-read", on: "pthread", "--privacy", "sanitized")
    let text = String(decoding: report.snapshot.process.statusText ?? [], as: UTF8.self)
    let lines = text.split(separator: "\n")
    #expect(lines.count { $0.hasPrefix("Pid:") } == 2)
    let hidden = lines.filter { line in
      ["Name:", "Uid:", "Gid:", "Groups:"].contains(where: line.hasPrefix)
    }
    #expect(hidden.count >= 6)
    #expect(
      hidden.allSatisfy { $0.drop { $0 != ":" }.dropFirst().allSatisfy { "-\t ".contains($0) } },
      "\(hidden)")
  }

  /// Landlock and seccomp return EACCES for files of /proc that were readable at the start.
  @Test(arguments: ["proc-closed", "opens-refused"])
  func whatWasClosedIsSaidToBeUnknown(condition: String) async throws {
    let report = try await crash(condition, "null-read", on: "main")
    let snapshot = report.snapshot
    #expect(snapshot.exception?.signal == SIGSEGV)
    #expect(snapshot.capture.isComplete)
    #expect(snapshot.capture.notShown == 0b111)
    #expect(snapshot.capture.threadsFound == nil)
    #expect(snapshot.process.mappingCount == nil && snapshot.process.descriptorCount == nil)
    let text = TextReport.text(of: report, width: 200)
    #expect(text.contains("unknown, not absent (mappings, threads, open files)"), "\(text)")
    #expect(!text.contains("threads found") && !text.contains(", all stopped"))
    let page = HTMLReport.text(of: report)
    #expect(page.contains("unknown, not absent (mappings, threads, open files)"))
  }

  @Test func theStatusTellsOfItBeforeACrashDoes() async throws {
    let child = try await ChildProcess.run(
      try BuiltProducts.besideTests("crash-lab"), ["status-closed", "--database", database],
      in: directory.path, environment: ["SWIFT_BACKTRACE": "enable=no"])
    let lines = child.standardOutput.split(separator: "\n")
    #expect(lines.count == 2 && lines.first == "the crash handler is in place", "\(child)")
    #expect(lines.last?.hasPrefix("/proc cannot be read (Permission denied): ") == true)
  }

  @Test func aThreadThatIsBeingMadeIsNotAccusedOneThatBlocksAFaultIs() async throws {
    let child = try await ChildProcess.run(
      try BuiltProducts.besideTests("crash-lab"), ["status-of-many", "--database", database],
      in: directory.path, environment: ["SWIFT_BACKTRACE": "enable=no"])
    let lines = child.standardOutput.split(separator: "\n")
    #expect(lines.count == 2 && lines.first == "accused 0", "\(child)")
    #expect(lines.last?.contains("blocks SIGBUS") == true, "\(child)")
  }
}
