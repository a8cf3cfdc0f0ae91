import CrashCatalogue
import CrashReportDatabase
import CrashTestSupport
import Glibc
import IntermediateDump
import ProcessSnapshot
import Testing

/// Threads whose stacks have no room for a signal frame: if our signal were sent to them, the kernel would end
/// the process by SIGSEGV.
@Suite(.serialized)
struct CrampedThreadTests {
  /// Threads that are created after the handler starts, and before; the handler offers alternate stacks to the
  /// latter.
  static let conditions = ["cramped-threads", "cramped-threads-before"]
  static let names = [
    "2k", "2k-spins", "3000", "unmapped", "handler", "handler-spins", "used",
  ]

  @Test(arguments: ["abort", "divide-by-zero"], conditions)
  func aCrashBesideThemEndsAsAloneWithOneWholeReportOfAllThreads(
    _ kind: String, _ condition: String
  ) async throws {
    let victim = try await Victim(.asTested)
    let options = ["--condition", condition]
    let alone = try await victim.dieAlone(kind, on: .pthread, options: options)
    let handled = try await victim.die(kind, on: .pthread, options: options)
    #expect(handled.end == alone.end && alone.end.signal == (kind == "abort" ? 6 : 8))
    let lines = try await victim.process()
    #expect(lines.count == 1 && lines.first?.tellsAWholeDump == true, "\(lines)")
    let report = try #require(try victim.reports().first)
    let threads = try Victim.snapshot(of: report).threads
    let found = threads.compactMap(\.name)
    #expect(Self.names.allSatisfy(found.contains), "\(found)")
    // The threads with enough room on their stacks are stopped.
    let sleepers = threads.filter { $0.name?.hasPrefix("sleeper") == true }
    #expect(
      sleepers.count == Victim.sleepers && sleepers.allSatisfy { $0.captureMethod == .stopped })
    // For a thread that waits, the kernel says where; for a thread that runs, it says nothing.
    let spinning = threads.filter { $0.name?.hasSuffix("-spins") == true }
    #expect(spinning.count == 2 && spinning.allSatisfy { $0.captureMethod != .stopped })
    let inHandler = threads.first { $0.name == "handler" }
    #expect(inHandler?.captureMethod == .kernel)
  }

  @Test(arguments: conditions)
  func aProcessBesideThemThatDoesNotCrashEndsAsAlone(_ condition: String) async throws {
    let victim = try await Victim(.asTested)
    let options = ["--condition", condition]
    let alone = try await victim.dieAlone("exit", on: .main, options: options)
    #expect(try await victim.die("exit", on: .main, options: options).end == alone.end)
  }

  @Test func itLivesThroughDumpsOfItsOwnAndRequestedOnesAndNoneOfItsMemoryChanges() async throws {
    let victim = try await LiveVictim()
    let running = try victim.start("live-dump", "obeying")
    try running.waitForLine("ready")
    try running.ask("cramp")
    try running.ask("dump")
    try running.ask("dump-stopped")
    let tool = try await BuiltProducts.shared.executable("postmortem", .asTested)
    let child = try await ChildProcess.run(
      tool, ["capture", "\(running.processID)", "--all-threads"], in: victim.directory.path)
    #expect(child.end.exitCode == 0, "\(child.standardError)")
    try running.ask("intact")
    running.signal(SIGSEGV)
    #expect(running.waitForEnd() == SIGSEGV)
    let lines = try await victim.process()
    #expect(lines.count == 3 && lines.allSatisfy { $0.contains("report ") }, "\(lines)")
  }

  /// The kernel would deliver a signal of the process to the first thread.
  @Test(arguments: [("first-on-2k", 10), ("first-2k", 2), ("first-handler", 2)])
  func itLivesThroughRequestedDumpsWhileItsFirstThreadHasNoRoom(_ scene: String, _ runs: Int)
    async throws
  {
    let victim = try await LiveVictim()
    let running = try victim.start("live-dump", scene)
    try running.waitForLine("ready")
    let tool = try await BuiltProducts.shared.executable("postmortem", .asTested)
    for run in 1...runs {
      let child = try await ChildProcess.run(
        tool, ["capture", "\(running.processID)", run % 2 == 0 ? "--all-threads" : "--json"],
        in: victim.directory.path)
      #expect(child.end.exitCode == 0, "\(child.standardError)")
      try running.ask("alive")
    }
    let snapshots = try victim.reports().map { try victim.snapshot(of: $0) }
    #expect(snapshots.count == runs)
    #expect(snapshots.allSatisfy { $0.exception?.threadID != UInt32(running.processID) })
    running.signal(SIGKILL)
    _ = running.waitForEnd()
  }

  @Test func nothingIsSentToAProcessThatHasRoomOnNoThread() async throws {
    let victim = try await LiveVictim()
    let running = try victim.start("live-dump", "only-2k")
    try running.waitForLine("ready")
    let tool = try await BuiltProducts.shared.executable("postmortem", .asTested)
    let child = try await ChildProcess.run(
      tool, ["capture", "\(running.processID)", "--timeout", "1"], in: victim.directory.path)
    #expect(
      child.end.exitCode == 1 && child.standardError.contains("no signal was sent"), "\(child)")
    try running.ask("alive")
    running.signal(SIGKILL)
    _ = running.waitForEnd()
  }
}
