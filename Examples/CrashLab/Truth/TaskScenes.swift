internal import Dispatch
internal import Glibc
internal import Postmortem
internal import Synchronization

/// The programs of the truth table whose tasks wait.
enum TaskScenes {
  /// 13: a method of an actor blocks in a semaphore, and ten tasks call the actor.
  static func occupiedActor() {
    let registry = Registry()
    Task.detached { await registry.refresh() }
    Truth.gate.wait(for: 1)
    for _ in 0..<10 { Task.detached { await registry.find() } }
    usleep(300_000)
  }

  /// 14: sixteen requests block all threads of the pool.
  static func fullPool() {
    let client = LegacyClient()
    let processors = Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    for _ in 0..<processors + 16 { Task.detached { client.fetch() } }
    Truth.gate.wait(for: processors)
    usleep(300_000)
  }

  /// 15: twenty tasks wait for a continuation that is never resumed.
  static func leakedContinuations() {
    let leases = Leases()
    for index in 0..<20 {
      Task.detached { await withContext("request", "r-\(index)") { await leases.lease() } }
    }
    Truth.gate.wait(for: 20)
    usleep(100_000)
  }

  /// 16: a task waits for its group, whose child is stuck.
  static func stuckChild() {
    let leases = Leases()
    Task.detached { await leases.leaseOne() }
    Truth.gate.wait(for: 1)
    usleep(100_000)
  }

  /// 33: two tasks that wait for each other.
  static func crossedTasks() {
    let pair = Pair()
    pair.set(first: Task.detached { await pair.awaitSecond() })
    pair.set(second: Task.detached { await pair.awaitFirst() })
    Truth.gate.wait(for: 2)
    usleep(100_000)
  }

  /// 34: the main thread waits in a semaphore for a task on the main actor.
  static func blockedMainActor() {
    Truth.mainWork.withLock { $0 = { Startup().prepare() } }
  }

  /// 36: 5,001 tasks: 500 wait for a continuation, 499 for one of these, and the others are ready or block the pool.
  static func manyTasks() {
    let leases = Leases()
    let client = LegacyClient()
    let processors = Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    let first = Task.detached { await leases.lease() }
    for _ in 1..<500 { Task.detached { await leases.lease() } }
    for _ in 0..<499 { Task.detached { await leases.follow(first) } }
    Truth.gate.wait(for: 999)
    usleep(300_000)
    for _ in 0..<processors { Task.detached { client.fetch() } }
    Truth.gate.wait(for: 999 + processors)
    for _ in 999 + processors..<5001 { Task.detached { client.fetch() } }
  }

  /// 37: thirty tasks sleep, and others compute and yield.
  static func sleepers() {
    for _ in 0..<30 { Task.detached { await Ticker().tick() } }
    for _ in 0..<200 { Task.detached { await Ticker().compute() } }
    usleep(300_000)
  }

  /// 38: tasks with names.
  static func namedTasks() {
    let leases = Leases()
    for name in ["import", "export", "audit"] {
      Task.detached(name: name) { await leases.lease() }
    }
    Truth.gate.wait(for: 3)
    usleep(100_000)
  }
}

/// Programs that are not in the table.
extension TaskScenes {
  /// 106: a task waits for two children: the first sleeps, and the second waits for a continuation.
  static func sleepingChild() {
    Task.detached { await Ticker().tickAndLease() }
    Truth.gate.wait(for: 1)
    usleep(100_000)
  }

  /// 107: the main thread reads from a silent peer, and a task waits for the main actor.
  static func readingMainActor() {
    Task { @MainActor in say("not reached") }
    Truth.mainWork.withLock { $0 = { Console().readCommand() } }
  }

  /// 108: a method of an actor computes, and ten tasks call the actor.
  static func computingActor() {
    let scorer = Scorer()
    Task.detached { await scorer.train() }
    Truth.gate.wait(for: 1)
    for _ in 0..<10 { Task.detached { await scorer.score() } }
    usleep(300_000)
  }
}

private struct Console {
  func readCommand() { Truth.readFromSilentPeer() }
}

private actor Scorer {
  private var weight: UInt64 = 1

  func train() {
    Truth.gate.open()
    // The odd number never becomes 0.
    while weight != 0 { weight = weight &* 6_364_136_223_846_793_005 }
  }

  func score() { say("not reached") }
}

private actor Registry {
  private let answer = DispatchSemaphore(value: 0)

  func refresh() {
    Truth.gate.open()
    Waiter.wait(for: answer)
  }

  func find() { say("not reached") }
}

/// A blocking call that an asynchronous function may not make itself.
private enum Waiter {
  static func wait(for semaphore: DispatchSemaphore) { semaphore.wait() }
}

private final class LegacyClient: Sendable {
  private let answer = DispatchSemaphore(value: 0)

  func fetch() {
    Truth.gate.open()
    answer.wait()
  }
}

private struct Leases {
  @inline(never)
  func lease() async {
    unsafe await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in
      Truth.gate.open()
    }
  }

  func follow(_ task: Task<Void, Never>) async {
    Truth.gate.open()
    await task.value
  }

  func leaseOne() async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await lease() }
      await group.next()
    }
  }
}

private final class Pair: Sendable {
  private let tasks = Mutex<(first: Task<Void, Never>?, second: Task<Void, Never>?)>((nil, nil))

  func set(first: Task<Void, Never>) { tasks.withLock { $0.first = first } }
  func set(second: Task<Void, Never>) { tasks.withLock { $0.second = second } }

  func awaitFirst() async {
    while tasks.withLock({ $0.first }) == nil { await Task.yield() }
    Truth.gate.open()
    await tasks.withLock { $0.first }?.value
  }

  func awaitSecond() async {
    while tasks.withLock({ $0.second }) == nil { await Task.yield() }
    Truth.gate.open()
    await tasks.withLock { $0.second }?.value
  }
}

private struct Startup {
  func prepare() {
    let done = DispatchSemaphore(value: 0)
    Task { @MainActor in
      say("not reached")
      done.signal()
    }
    done.wait()
  }
}

private struct Ticker {
  func tick() async { try? await Task.sleep(for: .seconds(600)) }

  func tickAndLease() async {
    async let ticks: Void = tick()
    async let lease: Void = Leases().lease()
    _ = await (ticks, lease)
  }

  func compute() async {
    var value: UInt64 = 1
    while Truth.runs.load(ordering: .relaxed) {
      for _ in 0..<1000 { value = value &* 6_364_136_223_846_793_005 &+ 1 }
      await Task.yield()
    }
    say(value)
  }
}
