import CrashReportDatabase
import CrashTestSupport
import Foundation
import Testing

/// Programs that know how many tasks they have, by crash-lab's `tasks`: in core files, hangs and dumps.
@Suite(.serialized) struct TaskSearchTests {
  private static let isFull = CoreReportTests.isFull

  enum Way: String, CaseIterable, Sendable {
    case core, hang, dump
  }

  /// What is read of `postmortem show --json`.
  private struct Shown: Decodable {
    struct Tasks: Decodable {
      let found: Int
      let timers: Int
      let bytesSeen: Int
      let bytesUnseen: Int
      let groups: [Group]
    }
    struct Group: Decodable {
      let state: String
      let count: Int
      let cancelled: Int
      let place: String?
      let oldest: [Record]
    }
    struct Record: Decodable {
      let id: Int
      let parent: Int?
      let awaits: Int?
    }
    let allTasks: Tasks?

    func groups(_ state: String) -> [Group] { allTasks?.groups.filter { $0.state == state } ?? [] }
    func count(_ state: String) -> Int { groups(state).reduce(0) { $0 + $1.count } }
  }

  private static let configurations: [BuildConfiguration] =
    isFull ? BuildConfiguration.allCases : [.asTested]

  private static let leaked: [(Int, Way)] =
    isFull
    ? [1, 100, 10_000].flatMap { count in Way.allCases.map { (count, $0) } }
    : [(1000, .core), (1000, .hang), (10, .dump)]

  @Test(arguments: leaked, configurations)
  func tasksThatNothingResumes(_ leaked: (Int, Way), _ configuration: BuildConfiguration)
    async throws
  {
    let (count, way) = leaked
    let (shown, text) = try await shown("leaked", count, way, configuration)
    let tasks = try #require(shown.allTasks, "\(text)")
    #expect(tasks.found == count && tasks.bytesUnseen == 0 && tasks.bytesSeen > 0, "\(tasks)")
    #expect(shown.count("awaits-continuation") == count)
    let group = try #require(tasks.groups.first)
    #expect(group.count == count && group.place?.contains("lease") == true, "\(group)")
    #expect(group.cancelled == count / 10)
    #expect(Set(group.oldest.map(\.id)).count == min(count, 16))
    let noun = count == 1 ? "1 task waits" : "\(count) tasks wait"
    #expect(text.contains("\(noun) for a continuation in "), "\(text)")
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

  // MARK: - Reports

  private func shown(
    _ scene: String, _ count: Int, _ way: Way, _ configuration: BuildConfiguration
  ) async throws -> (Shown, text: String) {
    let victim = try await LiveVictim(configuration)
    let manner = ["core": "waits", "hang": "watched", "dump": "dumps"][way.rawValue] ?? ""
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
    return try await LiveVictim.shown(try await victim.core(of: running))
  }
}
