import CrashReportDatabase
import CrashTestSupport
import Foundation
import Testing

/// Compares the tasks that a search finds with the number that crash-lab's `tasks` created, in core files, hangs,
/// dumps and captures.
@Suite(.serialized) struct TaskSearchTests {
  private static let isFull = CoreReportTests.isFull

  enum Way: String, CaseIterable, Sendable {
    case core, hang, dump, capture
  }

  /// The fields of `postmortem show --json` that the tests read.
  private struct Shown: Decodable {
    struct Tasks: Decodable {
      let found: Int
      let timers: Int
      let bytesSeen: Int
      let bytesUnseen: Int
      let deadlocks: [Deadlock]
      let groups: [Group]
    }
    struct Group: Decodable {
      let state: String
      let count: Int
      let cancelled: Int
      let place: String?
      let contexts: [Context]
      let oldest: [Record]
    }
    struct Context: Decodable {
      struct Value: Decodable {
        let name: String
        let value: String
      }
      let task: Int
      let values: [Value]
    }
    struct Record: Decodable {
      let id: Int
      let parent: Int?
      let awaits: Int?
    }
    struct Cause: Decodable {
      let kind: String
      let certainty: String
    }
    struct Deadlock: Decodable {
      let certain: Bool
      let tasks: [Wait]
    }
    struct Wait: Decodable {
      let id: Int
      let awaits: Int
      let group: Bool
      let place: String?
    }
    let cause: Cause?
    let signature: String?
    let allTasks: Tasks?

    func groups(_ state: String) -> [Group] { allTasks?.groups.filter { $0.state == state } ?? [] }
    func count(_ state: String) -> Int { groups(state).reduce(0) { $0 + $1.count } }
  }

  private static let configurations: [BuildConfiguration] =
    isFull ? BuildConfiguration.allCases : [.asTested]

  private static let leaked: [(Int, Way)] =
    isFull
    ? [1, 100, 10_000].flatMap { count in Way.allCases.map { (count, $0) } }
    : [(1000, .core), (1000, .hang), (10, .dump), (100, .capture)]

  @Test(arguments: leaked, configurations)
  func tasksThatNothingResumes(_ leaked: (Int, Way), _ configuration: BuildConfiguration)
    async throws
  {
    let (count, way) = leaked
    var (shown, text) = try await shown("leaked", count, way, configuration)
    if way == .dump {
      // The search of dumpWithoutCrash has a time limit, which a busy machine reaches; the report then says so.
      for _ in 0..<5 {
        guard let unseen = shown.allTasks?.bytesUnseen, unseen > 0 else { break }
        #expect(text.contains("were not searched"), "\(text)")
        (shown, text) = try await self.shown("leaked", count, way, configuration)
      }
    }
    let tasks = try #require(shown.allTasks, "\(text)")
    if count == 10_000, way == .dump, [.asTested, .staticDebug].contains(configuration) {
      // In a program without optimization, the search of dumpWithoutCrash reads fewer tasks before its time is
      // up.
      #expect(tasks.found == count || tasks.bytesUnseen > 0, "\(tasks.found)")
      return
    }
    #expect(tasks.found == count && tasks.bytesUnseen == 0 && tasks.bytesSeen > 0, "\(tasks)")
    #expect(shown.count("awaits-continuation") == count)
    let group = try #require(tasks.groups.first)
    #expect(group.count == count && group.place?.contains("lease") == true, "\(group)")
    #expect(group.cancelled == count / 10)
    #expect(Set(group.oldest.map(\.id)).count == min(count, 16))
    let values = group.contexts.flatMap(\.values)
    let noun = count == 1 ? "1 task waits" : "\(count) tasks wait"
    #expect(text.contains("\(noun) for a continuation in "), "\(text)")
    // The data that a program gives to the handler is only in the handler's dumps.
    guard way != .core else {
      #expect(values.isEmpty, "\(group.contexts)")
      return
    }
    #expect(Set(values.map(\.value)).count == min(count, 3), "\(group.contexts)")
    #expect(
      values.allSatisfy { value in
        value.name == "request"
          && (0..<count).contains(Int(value.value.dropFirst("request-".count)) ?? -1)
      }, "\(values)")
    #expect(
      text.contains(/\n    task [0-9]+, in flight( [0-9.]+ m?s)?: request=request-/), "\(text)")
  }

  @Test(arguments: isFull ? Way.allCases : [.dump], configurations)
  func childrenAndGroups(_ way: Way, _ configuration: BuildConfiguration) async throws {
    let (shown, text) = try await shown("children", 20, way, configuration)
    let tasks = try #require(shown.allTasks, "\(text)")
    #expect(tasks.found == 25, "\(text)")
    #expect(shown.count("awaits-continuation") == 22)
    let group = try #require(shown.groups("awaits-group").first?.oldest.first, "\(text)")
    let children = shown.groups("awaits-continuation").first { $0.count >= 20 }
    #expect(children?.oldest.allSatisfy { $0.parent == group.id } == true, "\(text)")
    let waiters = shown.groups("awaits-task").flatMap(\.oldest)
    #expect(waiters.count == 2 && waiters.contains { $0.awaits == group.id }, "\(text)")
  }

  @Test(arguments: isFull ? Way.allCases : [.dump], configurations)
  func aPoolWithoutThreadsAndAnActorThatIsBlocked(_ way: Way, _ configuration: BuildConfiguration)
    async throws
  {
    let (starved, text) = try await shown("starved", 300, way, configuration)
    #expect(starved.allTasks?.found == 300, "\(text)")
    #expect(starved.count("running") > 0 && starved.count("ready") > 0, "\(text)")
    #expect(starved.count("running") + starved.count("ready") == 300, "\(text)")
    #expect(text.contains("tasks are ready to run"), "\(text)")
    let (blocked, other) = try await shown("actor", 30, way, configuration)
    #expect(blocked.allTasks?.found == 31, "\(other)")
    #expect(blocked.count("running") == 1 && blocked.count("awaits-actor") == 30, "\(other)")
    #expect(blocked.groups("awaits-actor").first?.place?.contains("serve") == true, "\(other)")
  }

  @Test(
    arguments: isFull
      ? [2, 3, 100].flatMap { count in Way.allCases.map { (count, $0) } }
      : [(2, Way.core), (3, .hang), (2, .dump), (2, .capture)], configurations)
  func tasksThatWaitForEachOtherAreADeadlock(
    _ scene: (count: Int, way: Way), _ configuration: BuildConfiguration
  ) async throws {
    let (count, way) = scene
    let (shown, text) = try await shown("cycle", count, way, configuration)
    #expect(shown.cause?.kind == "deadlock" && shown.cause?.certainty == "certain", "\(text)")
    let deadlocks = try #require(shown.allTasks?.deadlocks, "\(text)")
    #expect(deadlocks.count == 1 && deadlocks.allSatisfy(\.certain), "\(text)")
    let tasks = try #require(deadlocks.first?.tasks)
    #expect(tasks.count == count && Set(tasks.map(\.id)).count == count, "\(tasks)")
    #expect(tasks.map(\.awaits) == tasks[1...].map(\.id) + [tasks[0].id], "\(tasks)")
    #expect(tasks.allSatisfy { $0.place?.contains("waitForNext") == true && !$0.group }, "\(tasks)")
    #expect(text.contains("Deadlock: \(count) tasks wait for each other."), "\(text)")
    // The head shows where each of the two tasks waits.
    let head = text.split(separator: "\n", omittingEmptySubsequences: false).prefix(10)
    #expect(head.joined(separator: " ").components(separatedBy: "waitForNext").count > 2, "\(head)")
    // The signature names the function that hangs; the thread may wait for something else.
    if way == .hang { #expect(shown.signature?.contains("waitForEver") == true, "\(text)") }
  }

  @Test(arguments: isFull ? Way.allCases : [.core, .dump], configurations)
  func aChainOfTasksIsNoDeadlock(_ way: Way, _ configuration: BuildConfiguration) async throws {
    let (shown, text) = try await shown("chain", 20, way, configuration)
    #expect(shown.cause == nil && !text.contains("Deadlock"), "\(text)")
    #expect(shown.allTasks?.deadlocks.isEmpty == true && shown.allTasks?.found == 20)
    #expect(shown.count("awaits-task") == 19 && shown.count("awaits-continuation") == 1, "\(text)")
  }

  @Test(arguments: isFull ? Way.allCases : [.dump], configurations)
  func aCycleThroughAGroupIsLikely(_ way: Way, _ configuration: BuildConfiguration) async throws {
    let (shown, text) = try await shown("grouped", 1, way, configuration)
    #expect(shown.cause?.kind == "deadlock" && shown.cause?.certainty == "likely", "\(text)")
    let tasks = try #require(shown.allTasks?.deadlocks.first?.tasks)
    #expect(tasks.count == 2 && tasks.count { $0.group } == 1, "\(tasks)")
  }

  // MARK: - Reports

  private func shown(
    _ scene: String, _ count: Int, _ way: Way, _ configuration: BuildConfiguration
  ) async throws -> (Shown, text: String) {
    let victim = try await LiveVictim(configuration)
    let manner =
      switch way {
      case .core, .capture: "waits"
      case .hang: "watched"
      case .dump: "dumps"
      }
    guard way != .dump else {
      let run = try await victim.run("tasks", scene, "\(count)", manner)
      #expect(run.end.exitCode == 0, "\(run)")
      _ = try await victim.process()
      return try await LiveVictim.shown(try #require(try victim.reports().first).path)
    }
    let running = try victim.start("tasks", scene, "\(count)", manner)
    if way == .hang {
      _ = try await victim.waitForFile(endingIn: ".hang")
      running.kill()
      _ = try await victim.process()
      return try await LiveVictim.shown(try #require(try victim.reports().first).path)
    }
    try running.waitForLine("blocked")
    if way == .capture {
      let run = try await LiveVictim.tool("capture", "\(running.processID)")
      #expect(run.end.exitCode == 0, "\(run)")
      return try await LiveVictim.shown(try #require(try victim.reports().first).path)
    }
    return try await LiveVictim.shown(try await victim.core(of: running))
  }
}
