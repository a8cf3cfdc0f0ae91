import CrashReportDatabase
import CrashTestSupport
import Foundation
import Testing

/// Programs with known owners and waiters, by crash-lab's `locks`, as hangs, captures and core files.
@Suite struct WaitingTests {
  /// True to test all scenes in all ways; false to test each scene in one way.
  private static let isFull = ProcessInfo.processInfo.environment["POSTMORTEM_WAITS"] == "all"

  enum Way: String, CaseIterable, Sendable {
    case hang, capture, core
  }

  /// The fields of `postmortem show --json` that the tests read.
  struct Shown: Decodable {
    struct Cause: Decodable {
      let kind: String
      let certainty: String
    }
    struct Wait: Decodable {
      let threadID: UInt32
      let kind: String
      let name: String?
      let owner: UInt32?
      let readers: Int
      let certain: Bool
      let deadlocked: Bool
      let place: String?
    }
    let cause: Cause?
    let signature: String?
    let place: String?
    let explanation: String?
    let waits: [Wait]
  }

  /// - Parameter ways: the ways that a normal run distributes over the scenes; a full one tests all of them.
  private static func cases(_ scenes: [(String, Int)], _ ways: [Way]) -> [(String, Int, Way)] {
    scenes.enumerated().flatMap { index, scene in
      (isFull ? Way.allCases : [ways[index % ways.count]]).map { (scene.0, scene.1, $0) }
    }
  }

  @Test(
    arguments: cases(
      [
        ("mutex-2", 2), ("queue-3", 3), ("write-2", 2), ("mutex-self", 1), ("queue-2", 2),
        ("mutex-3", 3), ("write-3", 3), ("mutex-task", 2),
      ], Way.allCases))
  func aCycleIsADeadlock(scene: String, count: Int, way: Way) async throws {
    let (shown, text) = try await shown(scene, way)
    #expect(shown.cause?.kind == "deadlock" && shown.cause?.certainty == "certain", "\(text)")
    let cycle = shown.waits.filter(\.deadlocked)
    #expect(cycle.count == count && cycle.allSatisfy { $0.certain }, "\(cycle)")
    #expect(Set(cycle.compactMap(\.owner)) == Set(cycle.map(\.threadID)))
    #expect(cycle.allSatisfy { $0.place?.contains("takeSecond") == true }, "\(cycle)")
    let kind = scene.prefix { $0 != "-" }
    #expect(
      cycle.allSatisfy { $0.kind == (kind == "write" ? "write-lock" : String(kind)) }, "\(cycle)")
    if kind == "queue" {
      #expect(Set(cycle.map(\.name)) == Set((0..<count).map { "crash-lab.\($0)" }))
    }
    // The head shows where each of the two threads waits.
    let head = text.split(separator: "\n", omittingEmptySubsequences: false).prefix(10)
    let places = head.joined(separator: " ").components(separatedBy: "takeSecond").count - 1
    #expect(places >= min(count, 2), "\(head)")
    if way == .hang {
      #expect(shown.signature?.hasPrefix("hang | deadlock | ") == true, "\(shown.signature ?? "")")
    }
  }

  @Test(
    arguments: cases(
      [("mutex-held", 1), ("swift-held", 1), ("queue-held", 1), ("write-held", 1), ("joined", 1)],
      [.hang, .capture, .core, .hang, .hang]))
  func anOwnerThatWorksIsNoDeadlock(scene: String, count: Int, way: Way) async throws {
    let (shown, text) = try await shown(scene, way)
    #expect(shown.cause == nil && !shown.waits.contains { $0.deadlocked }, "\(text)")
    let wait = try #require(
      shown.waits.first { $0.owner != nil && $0.place?.contains("Locks") == true }, "\(text)")
    #expect(wait.certain, "\(wait)")
    guard way == .hang else { return }
    // The place is the owner's, not the waiter's.
    #expect(shown.place?.contains("holdForEver") == true, "\(text)")
    #expect(shown.signature?.contains("holdForEver") == true, "\(text)")
    #expect(shown.explanation?.contains("which is in clock_nanosleep") == true, "\(text)")
  }

  @Test(
    arguments: cases(
      [("read-held", 1), ("semaphore", 0), ("condition", 0)], [.capture, .core, .hang]))
  func whatNamesNoOwnerNamesNone(scene: String, readers: Int, way: Way) async throws {
    let (shown, text) = try await shown(scene, way)
    #expect(shown.cause == nil && !shown.waits.contains { $0.deadlocked }, "\(text)")
    let kind = scene == "read-held" ? "write-lock" : scene
    let wait = try #require(
      shown.waits.first { $0.kind == kind && $0.place?.contains("Locks") == true }, "\(text)")
    #expect(wait.owner == nil && wait.readers == readers, "\(wait)")
  }

  /// Threads take and release locks all the time, always in the same order.
  @Test(arguments: [true, false]) func contentionIsNoDeadlock(stopsThreads: Bool) async throws {
    let victim = try await LiveVictim()
    let running = try victim.start("locks", "contended", "waits")
    try running.waitForLine("blocked")
    var waiting = 0
    for number in 1...(Self.isFull ? 200 : 3) {
      let run = try await LiveVictim.tool(
        "capture", stopsThreads ? "--all-threads" : "--timeout=20", "\(running.processID)")
      #expect(run.end.exitCode == 0, "\(run)")
      let reports = try victim.reports()
      try #require(reports.count == number)
      for report in reports.suffix(1) {
        let (shown, text) = try await LiveVictim.shown(report.path, as: Shown.self)
        waiting += shown.waits.count { $0.owner != nil }
        #expect(shown.cause == nil && !shown.waits.contains { $0.deadlocked }, "\(text)")
      }
    }
    #expect(waiting > 0)
  }

  /// The kernel and libdispatch refuse these deadlocks, and the runtime ends the process.
  @Test(
    arguments: [("swift-2", 2), ("swift-3", 3), ("swift-self", 1), ("queue-self", 0)],
    [BuildConfiguration.asTested, .release])
  func aCrashThatRefusesACycleNamesIt(
    of scene: (name: String, count: Int), _ build: BuildConfiguration
  ) async throws {
    let (scene, count) = scene
    let victim = try await LiveVictim(build)
    let child = try await victim.run("locks", scene, "waits")
    #expect(child.end.signal == SIGILL || child.end.signal == SIGTRAP, "\(child)")
    _ = try await victim.process()
    let (shown, text) = try await LiveVictim.shown(
      try #require(try victim.reports().first).path, as: Shown.self)
    let cycle = shown.waits.filter(\.deadlocked)
    #expect(cycle.count == count, "\(text)")
    #expect(shown.cause?.kind == (count == 0 ? "deadlock" : "swift-fatal-error"), "\(text)")
    #expect(text.contains("Deadlock: ") == !cycle.isEmpty)
  }

  // MARK: - Reports

  private func shown(_ scene: String, _ way: Way) async throws -> (Shown, text: String) {
    let victim = try await LiveVictim()
    let running = try victim.start("locks", scene, way == .hang ? "watched" : "waits")
    if way == .hang {
      _ = try await victim.waitForFile(endingIn: ".hang")
      running.kill()
      _ = try await victim.process()
      return try await LiveVictim.shown(try #require(try victim.reports().first).path)
    }
    try running.waitForLine("blocked")
    guard way == .core else {
      let run = try await LiveVictim.tool("capture", "\(running.processID)")
      #expect(run.end.exitCode == 0, "\(run)")
      return try await LiveVictim.shown(try #require(try victim.reports().first).path)
    }
    return try await LiveVictim.shown(try await victim.core(of: running))
  }
}
