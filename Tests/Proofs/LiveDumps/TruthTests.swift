import CrashReportDatabase
import CrashTestSupport
import Foundation
import Testing

/// The programs of the truth table that wait: the report's values are compared with the truth about each program.
@Suite struct TruthTests {
  /// What is true about a program.
  struct Truth: Sendable, CustomStringConvertible {
    let number: Int
    let kind: String
    /// Words of which each must be in the first sentences.
    var head: [String] = []
    /// The number of waits in a cycle, and whether the cycle is certain.
    var cycle = 0
    var isCertain = true
    /// The number of threads or tasks that wait, according to the verdict; nil for any.
    var waiting: Int?
    /// The kind of wait that must be in the report, and what is known about an owner outside the dump.
    var wait: String?
    var absentOwner: String?
    var manner = Manner.capture

    var description: String { "\(number) \(manner)" }
  }

  enum Manner: Sendable {
    case capture, hang, dump
  }

  private static let table = [
    Truth(number: 1, kind: "deadlock", head: ["Inventory.reserve", "Ledger.record"], cycle: 2),
    Truth(
      number: 2, kind: "deadlock", head: ["Intake.accept", "Billing.charge", "Shipping.send"],
      cycle: 3),
    Truth(
      number: 3, kind: "deadlock", head: ["Inventory.reserve", "Ledger.record"], cycle: 2),
    Truth(number: 4, kind: "lock", head: ["which runs", "Canvas.render"], wait: "swift-mutex"),
    Truth(number: 5, kind: "deadlock", head: ["Catalog.update", "Prices.update"], cycle: 2),
    Truth(
      number: 6, kind: "lock", head: ["Catalog.replace", "held by 1 reader"], wait: "write-lock"),
    Truth(number: 7, kind: "deadlock", head: ["waits for itself", "Sessions.count"], cycle: 1),
    Truth(number: 8, kind: "wait", head: ["condition", "Mailbox.receive"], wait: "condition"),
    Truth(number: 9, kind: "deadlock", head: ["\"orders\"", "\"stock\"", "Desk.serve"], cycle: 2),
    Truth(number: 11, kind: "wait", head: ["semaphore", "Limiter.enterAgain"], wait: "semaphore"),
    Truth(number: 12, kind: "wait", head: ["group", "Batch.finish"], wait: "group"),
    Truth(
      number: 13, kind: "actor", head: ["10 tasks wait for an actor", "Registry.refresh"],
      waiting: 10),
    Truth(number: 14, kind: "pool", head: ["pool", "LegacyClient.fetch"], waiting: 16),
    Truth(
      number: 15, kind: "tasks", head: ["20 tasks", "continuation", "Leases.lease"], waiting: 20),
    Truth(number: 16, kind: "tasks", head: ["Leases.lease"]),
    Truth(
      number: 17, kind: "lock",
      head: ["crash-lab-journal", "Journal.append", "taken by this process"],
      wait: "file-lock", absentOwner: "unknown"),
    Truth(
      number: 17, kind: "lock", head: ["crash-lab-journal", "taken by this process"],
      wait: "file-lock", absentOwner: "unknown", manner: .dump),
    Truth(
      number: 18, kind: "lock", head: ["child process", "Runner.run", "Runner.cancel"],
      wait: "mutex"),
    Truth(number: 19, kind: "lock", head: ["in read", "Gateway.send"], wait: "mutex"),
    Truth(
      number: 23, kind: "deadlock", head: ["time limit", "Transfer.move"], cycle: 2,
      isCertain: false),
    Truth(
      number: 24, kind: "deadlock", head: ["time limit", "Transfer.move"], cycle: 2,
      isCertain: false),
    Truth(
      number: 25, kind: "lock", head: ["of another process"], wait: "mutex",
      absentOwner: "other-process"),
    Truth(number: 29, kind: "deadlock", head: ["Settings"], cycle: 2),
    Truth(number: 30, kind: "lock", head: ["200 threads", "in read"], waiting: 200),
    Truth(
      number: 31, kind: "lock", head: ["which has ended"], wait: "mutex", absentOwner: "ended"),
    Truth(
      number: 32, kind: "lock", head: ["of the parent process"], wait: "mutex",
      absentOwner: "parent-process", manner: .dump),
    Truth(number: 33, kind: "deadlock", head: ["2 tasks", "Pair.await"]),
  ]

  /// The fields of `postmortem show --json` that the tests read.
  struct Shown: Decodable {
    struct Standstill: Decodable {
      let kind: String
      let certain: Bool
      let threadID: UInt32?
      let waiting: Int
      let sentences: [String]
    }
    struct Wait: Decodable {
      struct AbsentOwner: Decodable {
        let kind: String
      }
      let threadID: UInt32
      let kind: String
      let owner: UInt32?
      let absentOwner: AbsentOwner?
      let certain: Bool
      let deadlocked: Bool
      let place: String?
    }
    let cause: WaitingTests.Shown.Cause?
    let standstill: Standstill?
    let waits: [Wait]
  }

  @Test(arguments: table) func theVerdictIsTheTruth(_ truth: Truth) async throws {
    let (shown, text) = try await Self.shown(truth.number, truth.manner)
    let standstill = try #require(shown.standstill, "\(text)")
    #expect(standstill.kind == truth.kind, "\(text)")
    #expect(!standstill.certain || truth.isCertain, "\(text)")
    let head = standstill.sentences.joined(separator: " ")
    for words in truth.head { #expect(head.contains(words), "\(head)") }
    let cycle = shown.waits.filter(\.deadlocked)
    #expect(cycle.count == truth.cycle, "\(cycle)")
    // Only a deadlock is a cause, and it is as certain as it is true.
    #expect((shown.cause?.kind == "deadlock") == (truth.kind == "deadlock"), "\(text)")
    if shown.cause != nil {
      #expect(shown.cause?.certainty == (truth.isCertain ? "certain" : "likely"), "\(text)")
    }
    if let waiting = truth.waiting { #expect(standstill.waiting == waiting, "\(text)") }
    if let kind = truth.wait {
      let waits = shown.waits.filter { $0.kind == kind && $0.place != nil }
      #expect(!waits.isEmpty, "\(text)")
      #expect(waits.contains { $0.absentOwner?.kind == truth.absentOwner }, "\(waits)")
    }
    // The verdict is on the first screen, above the threads.
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    let first = lines.firstIndex { $0.hasPrefix("Thread ") && $0.hasSuffix(":") } ?? lines.count
    let shownHead = lines.prefix(min(first, 40)).joined(separator: " ")
    for words in truth.head { #expect(shownHead.contains(words), "\(shownHead)") }
  }

  /// A hot lock that nothing holds for long is no deadlock.
  @Test func aConvoyIsNoDeadlock() async throws {
    let victim = try await LiveVictim()
    let running = try victim.start("truth", "21", "waits")
    try running.waitForLine("blocked")
    for number in 1...10 {
      let run = try await LiveVictim.tool("capture", "--timeout=60", "\(running.processID)")
      #expect(run.end.exitCode == 0, "\(run)")
      let reports = try victim.reports()
      try #require(reports.count == number)
      let newest = try #require(reports.last)
      let (shown, text) = try await LiveVictim.shown(newest.path, as: Shown.self)
      #expect(shown.cause == nil && !shown.waits.contains { $0.deadlocked }, "\(text)")
    }
  }

  private static func shown(_ number: Int, _ manner: Manner) async throws -> (Shown, text: String) {
    let victim = try await LiveVictim()
    switch manner {
    case .dump:
      let child = try await victim.run("truth", "\(number)", "dumps")
      #expect(child.end.exitCode == 0, "\(child)")
      _ = try await victim.process()
    case .hang:
      let running = try victim.start("truth", "\(number)", "watched")
      _ = try await victim.waitForFile(endingIn: ".hang")
      running.kill()
      _ = try await victim.process()
    case .capture:
      let running = try victim.start("truth", "\(number)", "waits")
      try running.waitForLine("blocked")
      let run = try await LiveVictim.tool("capture", "--timeout=60", "\(running.processID)")
      #expect(run.end.exitCode == 0, "\(run)")
    }
    return try await LiveVictim.shown(try #require(try victim.reports().first).path)
  }
}
