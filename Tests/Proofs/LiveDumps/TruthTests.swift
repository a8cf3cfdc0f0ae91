import CrashReportDatabase
import CrashTestSupport
import Foundation
import Testing

/// The programs of the truth table that wait: the report's values are compared with the truth about each program.
@Suite struct TruthTests {
  /// What is true about a program; programs with numbers from 101 on are not in the table.
  struct Truth: Sendable, CustomStringConvertible {
    let number: Int
    let kind: String
    /// Words of which each must be in the first sentences.
    var head: [String] = []
    /// The number of waits in a cycle, and whether the cycle is certain.
    var cycle = 0
    /// Nil if the dump may show it either way.
    var isCertain: Bool? = true
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
    /// A core file by gdb.
    case core
    /// A capture, or a core file by gdb, from outside the PID namespace of the process.
    case captureFromOutside, coreFromOutside
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
      number: 6, kind: "lock",
      head: ["Catalog.replace", "held by 1 reader", "clock_nanosleep", "Report.build"],
      wait: "write-lock"),
    Truth(number: 7, kind: "deadlock", head: ["waits for itself", "Sessions.count"], cycle: 1),
    Truth(number: 8, kind: "wait", head: ["condition", "Mailbox.receive"], wait: "condition"),
    Truth(number: 9, kind: "deadlock", head: ["\"orders\"", "\"stock\"", "Desk.serve"], cycle: 2),
    Truth(
      number: 10, kind: "lock",
      head: ["com.apple.main-thread", "for a semaphore", "Page.load", "this is a deadlock"],
      wait: "queue"),
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
      number: 20, kind: "lock", head: ["in fsync", "Database.commit", "Database.read"],
      wait: "mutex"),
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
    Truth(
      number: 34, kind: "actor", head: ["1 task waits for an actor", "Startup.prepare"],
      waiting: 1),
    Truth(
      number: 34, kind: "actor", head: ["1 task waits for an actor", "Startup.prepare"],
      waiting: 1, manner: .hang),
    Truth(
      number: 101, kind: "lock",
      head: ["Feed.put", "Mailbox.receive", "for a condition", "this is a deadlock"],
      wait: "condition"),
    Truth(
      number: 102, kind: "wait", head: ["2 threads", "Phase.finish", "barrier"], waiting: 2,
      wait: "barrier"),
    Truth(number: 103, kind: "deadlock", head: ["waits for itself", "Sessions.count"], cycle: 1),
    Truth(
      number: 104, kind: "wait", head: ["a work item", "Export.finish"], wait: "work-item"),
    Truth(number: 105, kind: "wait", head: ["pipe:[", "Peer.send"], wait: "write"),
    Truth(
      number: 106, kind: "tasks", head: ["1 task sleeps", "Ticker.tick"], waiting: 1),
    Truth(
      number: 107, kind: "actor", head: ["for an actor", "is in read", "Truth.readFromSilentPeer"],
      waiting: 1),
    Truth(
      number: 108, kind: "actor", head: ["10 tasks wait for an actor", "Scorer.train"],
      waiting: 10),
    Truth(
      number: 109, kind: "wait", head: ["child process", "Runner.run"], wait: "child-process"),
    Truth(
      number: 110, kind: "lock", head: ["is in read", "Truth.readFromSilentPeer", "Gateway.send"]),
    Truth(
      number: 111, kind: "wait", head: ["2 threads", "semaphore", "Payment.pay"], waiting: 2),
    Truth(
      number: 112, kind: "deadlock", head: ["prices", "rates"], cycle: 2, isCertain: false),
    // The memory of the mutex that the kernel refused is not in the dump.
    Truth(
      number: 113, kind: "lock",
      head: ["crashlab_take_inheriting", "The kernel did not let thread", "this is a deadlock"],
      wait: "mutex"),
    Truth(
      number: 113, kind: "deadlock", head: ["crashlab_take_inheriting", "2 threads"], cycle: 2,
      isCertain: nil, manner: .core),
    Truth(
      number: 114, kind: "wait",
      head: ["crashlab_take_inheriting", "The kernel did not let thread", "this is a deadlock"],
      wait: "mutex"),
    Truth(
      number: 114, kind: "deadlock", head: ["crashlab_take_inheriting", "waits for itself"],
      cycle: 1, isCertain: nil, manner: .core),
    Truth(
      number: 115, kind: "deadlock",
      head: ["waits for itself", "RouteTable.insert", "most likely holds itself"], cycle: 1,
      isCertain: false, wait: "write-lock"),
    Truth(
      number: 116, kind: "lock",
      head: [
        "HostTable.insert", "held by 1 reader", "is a reader of the lock, it waits for itself",
      ],
      wait: "write-lock"),
    Truth(
      number: 117, kind: "deadlock",
      head: ["waits for itself", "ImageCache.store", "\"images\""], cycle: 1, isCertain: false,
      wait: "queue"),
    Truth(
      number: 118, kind: "wait", head: ["child process", "Importer.finish"],
      wait: "child-process"),
    Truth(
      number: 119, kind: "spin",
      head: ["2 threads", "ParticlePool.add", "takes a lock", "ParticlePool.simulate"],
      isCertain: false,
      waiting: 2),
    Truth(
      number: 120, kind: "lock",
      head: ["Lookup.merge", "held by 1 reader", "clock_nanosleep", "Lookup.dump"],
      wait: "write-lock"),
    Truth(
      number: 121, kind: "lock", head: ["HostTable.insert", "held by 1 reader"],
      wait: "write-lock"),
  ]

  private static let tableFromOutside = [
    Truth(
      number: 26, kind: "lock", head: ["of another process", "SharedCache.update"],
      wait: "mutex", absentOwner: "other-process", manner: .captureFromOutside),
    Truth(
      number: 27, kind: "deadlock", head: ["Inventory.reserve", "Ledger.record"], cycle: 2,
      manner: .captureFromOutside),
    Truth(
      number: 28, kind: "deadlock", head: ["Inventory.reserve", "Ledger.record"], cycle: 2,
      manner: .coreFromOutside),
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
    try await check(truth)
  }

  @Test(.enabled("needs root") { geteuid() == 0 }, arguments: tableFromOutside)
  func theVerdictFromOutsideIsTheTruth(_ truth: Truth) async throws {
    try await check(truth)
  }

  private func check(_ truth: Truth) async throws {
    let (shown, text) = try await Self.shown(truth.number, truth.manner)
    let standstill = try #require(shown.standstill, "\(text)")
    #expect(standstill.kind == truth.kind, "\(text)")
    #expect(!standstill.certain || truth.isCertain != false, "\(text)")
    let head = standstill.sentences.joined(separator: " ")
    for words in truth.head { #expect(head.contains(words), "\(head)") }
    let cycle = shown.waits.filter(\.deadlocked)
    #expect(cycle.count == truth.cycle, "\(cycle)")
    // Only a deadlock is a cause, and it is as certain as it is true.
    #expect((shown.cause?.kind == "deadlock") == (truth.kind == "deadlock"), "\(text)")
    if shown.cause != nil, let isCertain = truth.isCertain {
      #expect(shown.cause?.certainty == (isCertain ? "certain" : "likely"), "\(text)")
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

  /// Program 35: the report recognizes the service manager only by its name.
  @Test func theSignalOfAWatchdogIsExplainedByTheDeadlock() async throws {
    let victim = try await LiveVictim()
    let manager = victim.directory.path + "/systemd"
    try FileManager.default.createSymbolicLink(atPath: manager, withDestinationPath: "/bin/bash")
    let script = """
      "$0" truth 1 waits --database "$1" > lines &
      until grep -q blocked lines; do sleep 0.05; done
      kill -ABRT $!; wait $!
      """
    _ = try await ChildProcess.run(
      manager, ["-c", script, victim.executable, victim.database], in: victim.directory.path,
      environment: ["SWIFT_BACKTRACE": "enable=no", "WATCHDOG_USEC": "30000000"])
    _ = try await victim.process()
    let (shown, text) = try await LiveVictim.shown(
      try #require(try victim.reports().first).path, as: Shown.self)
    #expect(shown.cause?.kind == "watchdog", "\(text)")
    let standstill = try #require(shown.standstill, "\(text)")
    #expect(standstill.kind == "deadlock" && standstill.certain, "\(text)")
    #expect(shown.waits.count(where: \.deadlocked) == 2, "\(shown.waits)")
    let head = text.split(separator: "\n", omittingEmptySubsequences: false).prefix(40)
      .joined(separator: " ")
    for words in ["Inventory.reserve", "Ledger.record"] {
      #expect(head.contains(words), "\(text)")
    }
  }

  // MARK: - Tasks

  /// The tasks in `postmortem show --json`.
  private struct ShownTasks: Decodable {
    struct Tasks: Decodable {
      let found: Int
      let groups: [Group]
    }
    struct Group: Decodable {
      struct Record: Decodable {
        let name: String?
      }
      let state: String
      let pause: String?
      let count: Int
      let oldest: [Record]
    }
    let allTasks: Tasks?

    /// The number of tasks in a state, except those in a call that only pauses them.
    func count(_ state: String) -> Int {
      groups.reduce(0) { $0 + ($1.state == state && $1.pause == nil ? $1.count : 0) }
    }
    func count(pause: String) -> Int {
      groups.reduce(0) { $0 + ($1.pause == pause ? $1.count : 0) }
    }
    var groups: [Group] { allTasks?.groups ?? [] }
  }

  /// Program 36.
  @Test func theTasksAreCountedExactly() async throws {
    let (shown, text) = try await Self.shown(36, .capture, as: ShownTasks.self)
    let running = shown.count("running")
    #expect(shown.allTasks?.found == 5001, "\(text)")
    #expect(shown.count("awaits-continuation") == 500, "\(text)")
    #expect(shown.count("awaits-task") == 499, "\(text)")
    #expect(running > 0 && shown.count("ready") == 5001 - 999 - running, "\(text)")
  }

  /// Program 37.
  @Test func tasksThatSleepAndTasksThatComputeWaitForNothing() async throws {
    let (shown, text) = try await Self.shown(37, .capture, as: ShownTasks.self)
    #expect(shown.count(pause: "sleep") == 30, "\(text)")
    // A task that changes during the search can be missed, so only the states of those that were found are exact.
    let runnable = shown.count("ready") + shown.count("running") + shown.count(pause: "yield")
    #expect(runnable > 0 && runnable <= 200, "\(text)")
    #expect(shown.allTasks?.found == runnable + 30, "\(text)")
    #expect(text.hasPrefix("Nothing is known to wait."), "\(text)")
  }

  /// Program 38.
  @Test func tasksHaveTheirNames() async throws {
    let (shown, text) = try await Self.shown(38, .capture, as: ShownTasks.self)
    let names = shown.groups.flatMap(\.oldest).compactMap(\.name)
    #expect(names.sorted() == ["audit", "export", "import"], "\(text)")
  }

  // MARK: - Reports

  private static func shown<Value: Decodable>(
    _ number: Int, _ manner: Manner, as type: Value.Type = Shown.self
  ) async throws -> (Value, text: String) {
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
    case .captureFromOutside, .coreFromOutside:
      let command =
        Racer.namespace + [
          victim.executable, "truth", "\(number)", "waits", "--database", victim.database,
        ]
      let running = try RunningVictim(command[0], Array(command.dropFirst()))
      try running.waitForLine("blocked")
      // The child of unshare(1).
      let children = "/proc/\(running.processID)/task/\(running.processID)/children"
      let text = try String(contentsOfFile: children, encoding: .utf8)
      let inner = try #require(pid_t(text.trimmingCharacters(in: .whitespacesAndNewlines)))
      if manner == .coreFromOutside {
        return try await LiveVictim.shown(try await victim.core(of: inner))
      }
      let run = try await LiveVictim.tool("capture", "--timeout=60", "\(inner)")
      #expect(run.end.exitCode == 0, "\(run)")
    case .core:
      let running = try victim.start("truth", "\(number)", "waits")
      try running.waitForLine("blocked")
      return try await LiveVictim.shown(try await victim.core(of: running))
    case .capture:
      let running = try victim.start("truth", "\(number)", "waits")
      try running.waitForLine("blocked")
      let run = try await LiveVictim.tool("capture", "--timeout=60", "\(running.processID)")
      #expect(run.end.exitCode == 0, "\(run)")
    }
    return try await LiveVictim.shown(try #require(try victim.reports().first).path)
  }
}
