import CSignalSafe
import IntermediateDump
import SwiftRuntime
import Synchronization
import Testing

@testable import CrashHandler

/// Searches the tasks of this process, whose addresses the test knows: it fails if the runtime's layout changes.
@Suite struct LiveTaskSearchTests {
  /// The addresses of a test's tasks, and the continuations that resume them.
  private final class Waiting: Sendable {
    private struct State {
      var addresses: [UInt64] = []
      var continuations: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    var addresses: [UInt64] { state.withLock { $0.addresses } }
    var count: Int { state.withLock { $0.continuations.count } }

    func wait() async {
      note()
      await withCheckedContinuation { continuation in
        state.withLock { $0.continuations.append(continuation) }
      }
    }

    func note() {
      let address = unsafe withUnsafeCurrentTask { task in
        unsafe task.map { unsafe UInt64(unsafeBitCast($0, to: UInt.self)) }
      }
      state.withLock { $0.addresses.append(address ?? 0) }
    }

    func resume() {
      for continuation in state.withLock({ $0.continuations }) { continuation.resume() }
    }
  }

  /// Two tasks that wait for each other.
  private final class Ring: Sendable {
    private let tasks = Mutex<[Task<Void, Never>]>([])

    func start(_ waiting: Waiting) {
      for index in 0..<2 { add(Task.detached { await self.join(index, waiting) }) }
    }

    func startGroup(_ waiting: Waiting) { Task.detached { await self.follow(waiting) } }

    private func follow(_ waiting: Waiting) async {
      waiting.note()
      await withTaskGroup(of: Void.self) { group in
        group.addTask { await self.waitFor(0) }
      }
    }

    private func add(_ task: Task<Void, Never>) { tasks.withLock { $0.append(task) } }

    private func join(_ index: Int, _ waiting: Waiting) async {
      waiting.note()
      await waitFor(1 - index)
    }

    func waitFor(_ index: Int) async {
      while task(index) == nil { await Task.yield() }
      await task(index)?.value
    }

    private func task(_ index: Int) -> Task<Void, Never>? {
      tasks.withLock { $0.count == 2 ? $0[index] : nil }
    }
  }

  /// Tasks that constantly end and start.
  private final class Churn: Sendable {
    let isOver = Atomic(false)

    func work() async {
      while !isOver.load(ordering: .relaxed) {
        let first = Task.detached { await Task.yield() }
        let second = Task.detached { await first.value }
        async let third: Void = second.value
        await third
      }
    }
  }

  private static let limits = TaskSearchLimits(
    bytes: 4 << 30, time: 120_000_000_000, .processor, candidates: 1 << 16)

  private func tasks() throws -> [UInt64: FoundTask] {
    var facts = pm_task_facts()
    unsafe pm_find_task_facts(&facts)
    #expect(facts.task_size == 208 && facts.future_adapter != 0 && facts.other_adapter != 0)
    let search = try #require(LiveTaskSearch(facts, Self.limits))
    let found = try #require(search.tasks())
    #expect(found.bytesSeen > 0)
    return Dictionary(found.tasks.map { ($0.address, $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// Returns all tasks, once none of the tasks at the given addresses is about to wait.
  private func tasks(at addresses: [UInt64]) async throws -> [UInt64: FoundTask] {
    for _ in 0..<100 {
      let found = try tasks()
      if addresses.allSatisfy({ found[$0].map { $0.state != .running } ?? false }) { return found }
      await Task.yield()
    }
    return try tasks()
  }

  @Test func aHundredTasksThatWaitForContinuations() async throws {
    let waiting = Waiting()
    let started = (0..<100).map { _ in Task.detached(priority: .low) { await waiting.wait() } }
    while waiting.count < 100 { await Task.yield() }
    let found = try await tasks(at: waiting.addresses)
    let own = waiting.addresses.map { found[$0] }
    #expect(own.count == 100 && own.allSatisfy { $0?.state == .awaitsContinuation })
    #expect(Set(own.map { $0?.id }).count == 100 && Set(own.map { $0?.frames }).count == 1)
    #expect(own.allSatisfy { $0.map { $0.frames.count > 1 && $0.status & 0xFF == 0x11 } == true })
    waiting.resume()
    for task in started { await task.value }
  }

  @Test func childrenGroupsAndWaitersLeadToEachOther() async throws {
    let (waiting, parents) = (Waiting(), Waiting())
    let family = Task.detached {
      parents.note()
      async let child: Void = waiting.wait()
      await child
    }
    while waiting.count < 1 { await Task.yield() }
    let group = Task.detached {
      parents.note()
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<3 { group.addTask { await waiting.wait() } }
      }
    }
    while waiting.count < 4 { await Task.yield() }
    let waiter = Task.detached {
      parents.note()
      await group.value
    }
    while parents.addresses.count < 3 { await Task.yield() }
    let found = try await tasks(at: waiting.addresses + parents.addresses)
    let places = parents.addresses
    #expect(
      places.map { found[$0]?.state } == [.awaitsTask, .awaitsGroup, .awaitsTask], "\(found.count)")
    #expect(found[places[0]]?.awaited == waiting.addresses[0])
    #expect(found[places[2]]?.awaited == places[1])
    let children = waiting.addresses.map { found[$0]?.parent }
    #expect(children == [places[0], places[1], places[1], places[1]])
    waiting.resume()
    await family.value
    await group.value
    await waiter.value
  }

  /// These tasks wait forever, even after the test.
  @Test func tasksThatWaitForEachOtherAreACycle() async throws {
    let waiting = Waiting()
    let ring = Ring()
    ring.start(waiting)
    ring.startGroup(waiting)
    while waiting.addresses.count < 3 { await Task.yield() }
    var found = try await tasks(at: waiting.addresses)
    while waiting.addresses.contains(where: { found[$0]?.state == .ready }) { found = try tasks() }
    let pair = found.values.filter { task in
      task.awaited != 0 && found[task.awaited]?.awaited == task.address
    }
    #expect(Set(pair.map(\.address)).isSubset(of: waiting.addresses) && pair.count == 2)
    let parent = try #require(
      waiting.addresses.compactMap { found[$0] }.first { $0.awaitedGroup != 0 })
    let children = found.values.filter { $0.group == parent.awaitedGroup }
    #expect(children.map(\.parent) == [parent.address])
  }

  /// New tasks get the memory of old ones, and each of them waits for the next one.
  @Test func tasksThatChangeAreNoCycle() async throws {
    let churn = Churn()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<8 { group.addTask { await churn.work() } }
      var facts = pm_task_facts()
      unsafe pm_find_task_facts(&facts)
      let search = LiveTaskSearch(facts, Self.limits)
      var waitingCount = 0
      for _ in 0..<20 {
        let found = search?.tasks() ?? TaskCollection()
        waitingCount += found.tasks.count { $0.awaited != 0 }
        // Another test has two tasks that wait for each other forever.
        let cycles = found.grouped(limit: 512, recordLimit: 256).cycles
        #expect(cycles.count <= 1 && cycles.allSatisfy { $0.count == 2 }, "\(cycles)")
        await Task.yield()
      }
      churn.isOver.store(true, ordering: .relaxed)
      #expect(waitingCount > 0)
    }
  }

  @Test func tokensAreThoseOfASnapshotAndFit() async throws {
    let waiting = Waiting()
    let started = (0..<2000).map { _ in Task.detached { await waiting.wait() } }
    while waiting.count < 2000 { await Task.yield() }
    var facts = pm_task_facts()
    unsafe pm_find_task_facts(&facts)
    let search = try #require(LiveTaskSearch(facts, Self.limits))
    let tokens = search.tokens
    #expect(!tokens.isEmpty && tokens.count <= 160 << 10)
    waiting.resume()
    for task in started { await task.value }
  }
}
