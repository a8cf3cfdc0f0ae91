import CrashAnalysis
import CrashConverter
import CrashTestSupport
import Foundation
import IntermediateDump
import Stackwalk
import Testing

/// A process that goes on never shows a deadlock, however often it is read; it is read without a dump.
@Suite struct FalseDeadlockTests {
  /// The number of times that a process is read: 100,000 with `--full`, or the number in the environment.
  private static let count: Int = {
    let chosen = ProcessInfo.processInfo.environment["POSTMORTEM_WAITS"]
    return chosen == "all" ? 100_000 : chosen.flatMap(Int.init) ?? 500
  }()

  /// Six threads take two of four locks, always in the same order.
  @Test func threadsThatTakeLocksInOneOrderAreNeverInACycle() async throws {
    let victim = try await LiveVictim()
    let running = try victim.start("locks", "contended", "waits")
    try running.waitForLine("blocked")
    let reader = try OutsideReader(running.processID)
    let symbols = SymbolSource(directories: [], stored: nil, readsFiles: false)
    var (waiting, chained, refuted) = (0, 0, 0)
    var cycles: [Int] = []
    for _ in 1...Self.count {
      let switches = ContextSwitches(of: running.processID)
      var snapshot = try reader.snapshot()
      let waits = CrashReport(snapshot: snapshot, symbolicating: false).waits
      let owned = waits.all.filter { $0.owner != nil }
      waiting += owned.count
      chained += owned.count { wait in wait.owner.flatMap { waits.wait(of: $0)?.owner } != nil }
      guard !waits.deadlocks.isEmpty else { continue }
      snapshot.removeDeadlocks(ofThreadsThatRanSince: switches, symbols: symbols)
      cycles += Deadlock.all(in: snapshot, symbols: symbols).map(\.waits.count)
      refuted += 1
    }
    print(
      "\(Self.count) reads: \(waiting) waits for an owner, \(chained) for one that waits; \(refuted) cycles refuted"
    )
    #expect(cycles.isEmpty, "\(cycles.count), of \(Set(cycles)) threads")
    #expect(waiting > Self.count / 10 && chained > 0)
  }

  /// New tasks get the memory of old ones, and most of them wait for another one.
  @Test func tasksThatEndAreNeverInACycle() async throws {
    let victim = try await LiveVictim()
    let running = try victim.start("tasks", "churn", "4", "waits")
    try running.waitForLine("blocked")
    let reader = try OutsideReader(running.processID)
    var (tasks, waiting, unseen) = (0, 0, 0)
    var cycles: [Int] = []
    for _ in 1...Self.count {
      let found = try #require(reader.tasks())
      tasks += Int(found.count)
      waiting += found.groups.lazy.flatMap(\.records).count { $0.awaited != 0 }
      if found.bytesUnseen > 0 { unseen += 1 }
      cycles += found.cycles.map(\.count)
    }
    print(
      "\(Self.count) reads: \(tasks) tasks, \(waiting) wait for a task; \(unseen) reads not whole")
    #expect(cycles.isEmpty, "\(cycles.count), of \(Set(cycles)) tasks")
    #expect(tasks > Self.count && waiting > 0)
  }
}
