import CSignalSafe
import IntermediateDump
import Synchronization
import Testing

@testable import CrashHandler

/// Tasks of this process, whose addresses it knows: fails where the runtime's layout moves.
@Suite struct OwnTaskSearchTests {
  /// Where the tasks of a test are, and what resumes them.
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

  private static let limits = OwnTaskSearch.Limits(bytes: 4 << 30, time: 120_000_000_000)

  private func tasks() throws -> [UInt64: FoundTask] {
    var facts = pm_task_facts()
    unsafe pm_find_task_facts(&facts)
    #expect(facts.task_size == 208 && facts.future_adapter != 0 && facts.other_adapter != 0)
    let search = try #require(OwnTaskSearch(facts, Self.limits))
    let found = try #require(search.tasks())
    #expect(found.bytesSeen > 0)
    return Dictionary(found.tasks.map { ($0.address, $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// All tasks, once none of those at some addresses is about to wait.
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

  @Test func tokensAreThoseOfASnapshotAndFit() async throws {
    let waiting = Waiting()
    let started = (0..<2000).map { _ in Task.detached { await waiting.wait() } }
    while waiting.count < 2000 { await Task.yield() }
    var facts = pm_task_facts()
    unsafe pm_find_task_facts(&facts)
    let search = try #require(OwnTaskSearch(facts, Self.limits))
    let tokens = search.tokens
    #expect(!tokens.isEmpty && tokens.count <= 160 << 10)
    waiting.resume()
    for task in started { await task.value }
  }
}
