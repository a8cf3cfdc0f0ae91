import CrashAnalysis
import CrashReport
import CrashTestSupport
import Foundation
import IntermediateDump
import PendingDumps
import ProcessSnapshot
import Testing

/// Hangs of processes that the test starts.
@Suite(.serialized) struct HangTests {
  private static let targets = ["main", "queue", "actor", "heartbeat"]

  @Test(arguments: targets, ["idle", "busy"])
  func aHangThatWasKilledIsReported(_ target: String, _ manner: String) async throws {
    let victim = try await LiveVictim()
    let child = try victim.start("hang", target, manner, "killed")
    _ = try await victim.waitForFile(endingIn: ".hang")
    // No converter processes the dump while the process is alive.
    let left = try await victim.process()
    #expect(left.count == 1 && left[0].contains(": left for now: its owner may still write"))
    try await Task.sleep(for: .seconds(1))
    child.kill()
    let processed = try await victim.process()
    // The report of the hang tells the end of the run too.
    #expect(processed.count == 1, "\(processed)")
    let report = try victim.onlyReport()
    let request = try #require(report.snapshot.request)
    #expect(request.end?.kind == .hungThenKilled)
    #expect(request.kind == .hang)
    // The thread that runs a queue or an actor is not always known, but a thread that is named as known must be
    // right.
    let isKnown = request.threadEvidence == .known
    #expect(isKnown == (target == "heartbeat"))
    #expect(
      request.isBusy == (manner == "busy") || (!isKnown && request.isBusy == nil), "\(request)")
    #expect(request.threshold == 400_000_000)
    // The monitor updates the time until the process ends.
    #expect(try #require(request.hangTime) >= 400_000_000)
    #expect(report.explanation?.contains("had not answered for") == true)
    #expect(report.snapshot.exception?.signal == nil)
    let expected = manner == "busy" ? "hangBusily" : "hangIdly"
    let hung = try #require(
      report.threads.first { thread in
        thread.frames.contains { $0.function?.contains(expected) == true }
      }, "\(report.threads.map { $0.frames.map(\.function) })")
    if isKnown { #expect(hung.crashed) }
    #expect(report.place?.contains(expected) == true, "\(report.place ?? "none")")
    #expect(hung.snapshot.captureMethod == (manner == "busy" ? .stopped : .kernel))
    let files = try victim.pendingFiles()
    #expect(
      files.allSatisfy { !$0.contains(report.snapshot.reportID?.description ?? "?") }, "\(files)")
  }

  private struct Row: Decodable {
    let reportID: String
    let state: String
    let pid: Int32?
  }

  private struct Examined: Decodable {
    let hangs: [String]
  }

  private struct Directory: Decodable {
    let processes: [Examined]
  }

  private func answer<Answer: Decodable>(
    _ words: String..., as type: Answer.Type = Answer.self
  ) async throws -> Answer {
    let tool = try await BuiltProducts.shared.executable("postmortem", .asTested)
    let run = try await ChildProcess.run(tool, words + ["--json"], in: "/tmp")
    try #require(run.end.exitCode == 0, "\(run)")
    return try JSONDecoder().decode(Answer.self, from: Data(run.standardOutput.utf8))
  }

  /// The commands show a hang while it lasts, and after the process was killed.
  @Test func aHangThatLastsIsSeenByEachCommand() async throws {
    let victim = try await LiveVictim()
    let child = try victim.start("hang", "heartbeat", "idle", "killed")
    let file = try await victim.waitForFile(endingIn: ".hang")
    let id = String(try #require(file.split(separator: "@").last).prefix(36))
    let database = victim.database
    func rows() async throws -> [Row] { try await answer("list", "-d", database) }
    let lasting = try await rows()
    #expect(lasting.map(\.reportID) == [id] && lasting.map(\.state) == ["hanging"])
    #expect(lasting.first?.pid == child.processID)
    #expect(try await answer("doctor", "\(child.processID)", as: Examined.self).hangs == [id])
    let examined: Directory = try await answer("doctor", "-d", database)
    #expect(examined.processes.map(\.hangs) == [[id]])
    let shown: TruthTests.Shown = try await answer("show", "-d", database)
    #expect(shown.standstill != nil)
    child.kill()
    let left = try await rows()
    #expect(left.map(\.reportID) == [id] && left.map(\.state) == ["waiting"])
    let gone: Directory = try await answer("doctor", "-d", database)
    #expect(gone.processes.isEmpty)
    let shownAfter: TruthTests.Shown = try await answer("show", "-d", database)
    #expect(shownAfter.standstill != nil)
  }

  /// As under Kubernetes: SIGTERM, an orderly shutdown that first stops its monitors and then waits for the
  /// thread that hangs, then SIGKILL.
  @Test(arguments: ["main", "heartbeat"])
  func aHangWhoseWatchWasStoppedIsReportedIfTheProcessIsKilled(_ target: String) async throws {
    let victim = try await LiveVictim()
    let child = try victim.start("hang", target, "idle", "stopped")
    try child.waitForLine("stopped")
    #expect(try await victim.waitForHeartbeat().hangReport != nil)
    child.kill()
    let processed = try await victim.process()
    #expect(processed.count == 1, "\(processed)")
    let report = try victim.onlyReport()
    #expect(report.snapshot.request?.kind == .hang)
    #expect(report.snapshot.request?.end?.kind == .hungThenKilled)
    #expect(
      report.threads.contains { thread in
        thread.frames.contains { $0.function?.contains("hangIdly") == true }
      })
  }

  @Test func twoMonitorsOfOneHangMakeOneReport() async throws {
    let victim = try await LiveVictim()
    let child = try victim.start("hang", "two", "idle", "killed")
    _ = try await victim.waitForFile(endingIn: ".hang")
    try await Task.sleep(for: .seconds(3))
    #expect(try victim.pendingFiles().count { $0.hasSuffix(".hang") } == 1)
    child.kill()
    #expect(try await victim.process().count == 1)
    #expect(try victim.onlyReport().snapshot.request?.end?.kind == .hungThenKilled)
  }

  /// The dump shows both hangs; when the part that it was taken for answers again, the other needs its own.
  @Test func theSecondHangHasADumpOnceTheFirstIsOver() async throws {
    let victim = try await LiveVictim()
    let child = try victim.start("hang", "two", "idle", "first-recovers")
    try child.waitForLine("another dump is there")
    #expect(try victim.pendingFiles().count { $0.hasSuffix(".hang") } == 1)
    child.kill()
    _ = try await victim.process()
    #expect(try victim.onlyReport().snapshot.request?.name == "second")
  }

  /// `exit` removes the dump of a watch that was stopped, so this dump no longer stands for the other hang.
  @Test func theSecondHangHasADumpOnceTheFirstIsNoLongerWatched() async throws {
    let victim = try await LiveVictim()
    let child = try victim.start("hang", "two", "idle", "first-stops")
    try child.waitForLine("another dump is there")
    #expect(try victim.pendingFiles().count { $0.hasSuffix(".hang") } == 2)
    child.kill()
  }

  @Test(arguments: ["main", "heartbeat"], ["stopped-exits", "stopped-quits", "stopped-recovers"])
  func aHangWhoseWatchWasStoppedLeavesNothingOtherwise(
    _ target: String, _ end: String
  ) async throws {
    let victim = try await LiveVictim()
    let child = try await victim.run("hang", target, "idle", end)
    #expect(child.end.exitCode == 0, "\(child.standardOutput)")
    #expect(try await victim.process().isEmpty)
    #expect(try victim.reports().isEmpty)
    #expect(try victim.pendingFiles().isEmpty)
  }

  @Test(arguments: targets)
  func aHangThatEndsLeavesNothing(_ target: String) async throws {
    let victim = try await LiveVictim()
    let lines = try await victim.lines("hang", target, "idle", "recovers")
    #expect(lines.contains("dump is gone"), "\(lines)")
    #expect(try await victim.process().isEmpty)
    #expect(try victim.reports().isEmpty)
  }

  @Test func aHangThatEndsIsKeptIfAsked() async throws {
    let victim = try await LiveVictim()
    _ = try await victim.lines("hang", "heartbeat", "idle", "kept")
    _ = try await victim.process()
    #expect(try victim.onlyReport().snapshot.request?.kind == .hang)
  }

  @Test func aCrashOvertakesAHang() async throws {
    let victim = try await LiveVictim()
    let child = try await victim.run("hang", "heartbeat", "idle", "crashes")
    #expect(child.end.signal == SIGSEGV, "\(child.standardOutput)")
    _ = try await victim.process()
    let report = try victim.onlyReport()
    #expect(report.snapshot.request == nil)
    #expect(report.snapshot.exception?.signal == SIGSEGV)
    #expect(report.snapshot.capture.sectionsAbandoned == 0)
  }

  @Test(arguments: targets)
  func aStandstillIsNoHang(_ target: String) async throws {
    let victim = try await LiveVictim()
    let child = try victim.start("hang", target, "never", "watched")
    _ = try await victim.waitForFile(endingIn: ".locked")
    try await Task.sleep(for: .seconds(1))
    child.signal(SIGSTOP)
    try await Task.sleep(for: .seconds(2))
    child.signal(SIGCONT)
    #expect(try child.finish() == 0)
    // If a hang had been detected, its report would have been kept.
    #expect(try await victim.process().isEmpty)
    #expect(try victim.reports().isEmpty)
  }
}
