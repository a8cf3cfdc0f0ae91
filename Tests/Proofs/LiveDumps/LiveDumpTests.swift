import CrashAnalysis
import CrashReport
import CrashReportDatabase
import CrashTestSupport
import Foundation
import IntermediateDump
import Minidump
import ProcessSnapshot
import Stackwalk
import Testing

/// Dumps without a crash, of processes that continue.
@Suite struct LiveDumpTests {
  private func systemCall(_ thread: ReportThread) -> String? {
    thread.snapshot.systemCallNumber.flatMap { SystemCallNames.name($0) }
  }

  private func isStack(_ thread: ReportThread, through function: String) -> Bool {
    thread.frames.contains { $0.function?.contains(function) == true }
  }

  @Test func nowIsAReportInTheSameCall() async throws {
    let victim = try await LiveVictim()
    let lines = try await victim.lines("live-dump", "now")
    let report = try victim.onlyReport()
    #expect(lines == ["dumped", report.snapshot.reportID?.description])
    #expect(report.snapshot.request?.kind == .program)
    #expect(report.explanation?.hasPrefix("Dump requested by the program at ") == true)
    #expect(report.snapshot.exception?.signal == nil)
    #expect(report.message == nil)
    let first = try #require(report.threads.first)
    #expect(first.crashed)
    #expect(isStack(first, through: "dumpFromHere"), "\(first.frames.map(\.function))")
    #expect(first.trace.end == .bottom)
    #expect(
      report.signature?.hasPrefix("dump | CrashLab.dumpFromHere") == true,
      "\(report.signature ?? "")")
    // Only the files of the run itself are left.
    let names = try victim.pendingFiles()
    #expect(
      names.allSatisfy { !$0.hasSuffix(report.snapshot.reportID?.description ?? "?") }, "\(names)")
  }

  @Test func deferredIsAReportOfTheNextStart() async throws {
    let victim = try await LiveVictim()
    let lines = try await victim.lines("live-dump", "deferred")
    #expect(try victim.reports().isEmpty)
    // Neither the dump nor its report counts as a crash.
    #expect(try victim.recentCrashes() == 0)
    let processed = try await victim.process()
    #expect(processed.count == 1 && processed[0].contains(": dump"), "\(processed)")
    #expect(try victim.onlyReport().snapshot.reportID?.description == lines.last)
    #expect(try victim.recentCrashes() == 0)
  }

  @Test func aPathIsProcessedOrDropped() async throws {
    let victim = try await LiveVictim()
    let path = victim.directory.path + "/dump"
    let lines = try await victim.lines("live-dump", "to-path", path)
    // The next start does not process a dump at a path of the program's choice.
    #expect(try await victim.process().isEmpty)
    let processed = try await victim.lines("live-dump", "process-path", path)
    #expect(processed.first?.contains(": dump in CrashLab.LiveDump") == true, "\(processed)")
    #expect(try victim.onlyReport().snapshot.reportID?.description == lines.last)
    #expect(!FileManager.default.fileExists(atPath: path))
    // An existing file is not overwritten.
    try Data("mine".utf8).write(to: URL(fileURLWithPath: path))
    let refused = try await victim.run("live-dump", "to-path", path)
    #expect(refused.end.exitCode == 70 && refused.standardError.contains("cannot create the file"))
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data("mine".utf8))
  }

  @Test func interruptsNobody() async throws {
    let victim = try await LiveVictim()
    let lines = try await victim.lines("live-dump", "server")
    #expect(lines.last == "interrupted 0", "\(lines)")
    _ = try await victim.process()
    let reports = try victim.reports()
    #expect(reports.count == 3)
    for report in reports {
      let seen = CrashReport(snapshot: try victim.snapshot(of: report), symbolicating: true)
      let calls = seen.threads.compactMap(systemCall)
      // Each thread has its stack, from the registers that the kernel shows for waiting threads.
      #expect(calls.filter { $0.contains("nanosleep") }.count == 4, "\(calls)")
      #expect(calls.filter { $0 == "poll" }.count == 4, "\(calls)")
      for thread in seen.threads where systemCall(thread) == "poll" {
        #expect(thread.snapshot.captureMethod == .kernel && !thread.frames.isEmpty)
      }
      #expect(seen.snapshot.capture.threadsStopped == 0)
    }
  }

  @Test func stopsThreadsIfAsked() async throws {
    let victim = try await LiveVictim()
    _ = try await victim.lines("live-dump", "server-stopped")
    _ = try await victim.process()
    let reports = try victim.reports()
    #expect(reports.count == 3)
    for report in reports {
      let seen = CrashReport(snapshot: try victim.snapshot(of: report), symbolicating: true)
      let spinning = try #require(seen.threads.first { isStack($0, through: "spin") })
      #expect(spinning.snapshot.captureMethod == .stopped && spinning.snapshot.context != nil)
    }
  }

  @Test func manyThreadsDumpAtOnce() async throws {
    let victim = try await LiveVictim()
    let lines = try await victim.lines("live-dump", "many-threads")
    #expect(Set(lines).count == 32, "\(lines)")
    _ = try await victim.process()
    #expect(Set(try victim.reports().map { $0.id.description }) == Set(lines))
  }

  @Test(arguments: ["crash", "crash-stopped"])
  func aCrashWhileThreadsDumpIsCaptured(_ scene: String) async throws {
    let victim = try await LiveVictim()
    let child = try await victim.run("live-dump", scene)
    #expect(child.end.signal == SIGSEGV, "\(child.end) \(child.standardOutput)")
    _ = try await victim.process()
    let snapshots = try victim.reports().map { try victim.snapshot(of: $0) }
    let crashes = snapshots.filter { $0.request == nil }
    try #require(crashes.count == 1)
    #expect(crashes[0].exception?.signal == SIGSEGV)
    #expect(crashes[0].capture.isComplete)
    #expect(crashes[0].capture.sectionsAbandoned == 0)
    // The stacks of the threads that were taking a dump show where they called it.
    let report = CrashReport(snapshot: crashes[0], symbolicating: true)
    #expect(report.threads.filter { isStack($0, through: "crashWhileDumping") }.count == 9)
  }

  @Test func aFaultOfADumpIsNoCrash() async throws {
    let victim = try await LiveVictim()
    let lines = try await victim.lines("live-dump", "faulting")
    #expect(lines.first == "dumped")
    _ = try await victim.process()
    let report = try victim.onlyReport()
    #expect(report.snapshot.reportID?.description == lines.last)
    #expect(report.snapshot.capture.isComplete)
  }

  @Test(.needs(.lldb))
  func lldbOpensTheMinidump() async throws {
    let victim = try await LiveVictim()
    _ = try await victim.lines("live-dump", "now")
    let report = try #require(try victim.reports().first)
    let view = try await LLDB.view(dump: report.path, directory: victim.directory.path)
    #expect(view.frames.contains { $0.function?.contains("dumpFromHere") == true })
    let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: report.path)))
    #expect(Self.exceptionCode(bytes) == UInt32.max)
  }

  /// The code in the exception stream, which is found through the directory of the minidump.
  private static func exceptionCode(_ bytes: [UInt8]) -> UInt32? {
    func word(_ offset: Int) -> Int {
      (0..<4).reduce(0) { $0 | Int(bytes[offset + $1]) << (8 * $1) }
    }
    for index in 0..<word(8) where word(word(12) + index * 12) == 6 {
      return UInt32(truncatingIfNeeded: word(word(word(12) + index * 12 + 8) + 8))
    }
    return nil
  }
}
