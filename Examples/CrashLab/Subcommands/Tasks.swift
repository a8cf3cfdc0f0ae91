internal import Dispatch
internal import Glibc
internal import Postmortem
internal import Synchronization

/// Tasks of Swift concurrency, most of which no thread runs.
struct Tasks: Subcommand {
  private enum Scene: String, CaseIterable {
    /// Each has a context and waits for a continuation that nothing resumes; every tenth is canceled.
    case leaked
    /// One waits for its two `async let`, one for the COUNT children of its group, and one for that one.
    case children
    /// Each blocks its thread, so that those for which the pool has no thread are ready.
    case starved
    /// One blocks an actor, and COUNT wait for that actor.
    case actor
    /// Each runs on one of two actors and waits for the next one, and the last one waits for the first one.
    case cycle
    /// The same, but the last one waits for a continuation. Before that, it has been on both actors and back.
    case chain
    /// One waits for its task group, whose only task waits for the first one.
    case grouped
    /// COUNT continuously start tasks that wait for each other and end.
    case churn
  }

  private enum Manner: String, CaseIterable {
    /// Waits until it is ended.
    case waits
    /// The main thread hangs, and has a hang monitor.
    case watched
    /// Takes a dump.
    case dumps
  }

  private let scene: Scene
  private let count: Int
  private let manner: Manner
  private let database: String

  init(_ arguments: Arguments) throws(UsageError) {
    let words = try arguments.words("SCENE", "COUNT", "MANNER")
    scene = try Arguments.choice(words[0])
    count = Int(words[1]) ?? 0
    manner = try Arguments.choice(words[2])
    database = try arguments.database
  }

  func run() throws {
    let handler = CrashLab.start(database)
    play()
    say("blocked")
    switch manner {
    case .waits: waitForEver()
    case .dumps: try handler.dumpWithoutCrash(reason: "tasks")
    case .watched:
      let options = HangMonitor.Options(threshold: .milliseconds(300))
      let monitor = try HangMonitor.heartbeat(name: "tasks", options: options)
      monitor.heartbeat()
      waitForEver()
    }
  }

  /// Starts the tasks, and returns once they wait.
  private func play() {
    switch scene {
    case .leaked:
      for index in 0..<count {
        let task = Task.detached {
          await withContext("request", "request-\(index)") { await Handler().respond() }
        }
        if index % 10 == 9 { task.cancel() }
      }
      wait(for: count)
    case .children:
      Task.detached { await Handler().respondTwice() }
      let group = Task.detached { [count] in await Handler().respondToAll(count) }
      wait(for: count + 2)
      Task.detached { await Handler().follow(group) }
      // The task that waits for the group begins no work that could tell that it waits.
      usleep(100_000)
    case .starved:
      for _ in 0..<count { Task.detached { Handler().block() } }
      usleep(200_000)
    case .actor:
      Task.detached { await Desk.shared.block() }
      wait(for: 1)
      for _ in 0..<count { Task.detached { await Desk.shared.serve() } }
      usleep(200_000)
    case .cycle, .chain:
      let ring = Ring(count, isClosed: scene == .cycle)
      for index in 0..<count {
        ring.add(
          Task.detached {
            if index % 2 == 0 {
              await Left.shared.hold(index, ring)
            } else {
              await Right.shared.keep(index, ring)
            }
          })
      }
      usleep(200_000)
    case .grouped:
      let ring = Ring(1, isClosed: true)
      ring.add(Task.detached { await Handler().askOne(ring) })
      usleep(200_000)
    case .churn:
      for _ in 0..<count {
        Task.detached { while true { await Handler().startTasks() } }
      }
    }
  }

  /// Waits until so many tasks wait, and the last of them has left its thread.
  private func wait(for wanted: Int) {
    while waiting.load(ordering: .relaxed) < wanted { usleep(1000) }
    usleep(50_000)
  }
}

private let waiting = Atomic(0)

private struct Handler {
  func respond() async { await lease() }

  /// The place of each task that waits for a continuation.
  @inline(never)
  private func lease() async {
    unsafe await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in
      waiting.add(1, ordering: .relaxed)
    }
    say("not reached")
  }

  func respondTwice() async {
    async let first: Void = lease()
    async let second: Void = lease()
    _ = await (first, second)
  }

  func respondToAll(_ count: Int) async {
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<count { group.addTask { await lease() } }
    }
  }

  func askOne(_ ring: Ring) async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await ring.waitForNext(of: 0) }
    }
  }

  func follow(_ task: Task<Void, Never>) async { await task.value }

  /// Starts tasks, of which each waits for another one, and which soon end.
  func startTasks() async {
    let first = Task.detached { await Task.yield() }
    let second = Task.detached { await first.value }
    async let third: Void = second.value
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await second.value }
    }
    await third
  }

  @inline(never)
  func block() {
    while true { sleep(1) }
  }
}

private actor Desk {
  static let shared = Desk()

  func block() {
    waiting.add(1, ordering: .relaxed)
    Handler().block()
  }

  /// The place of each task that waits for the actor.
  @inline(never)
  func serve() async { say("not reached") }
}

/// Tasks, each of which waits for the next one.
private final class Ring: Sendable {
  private let tasks = Mutex<[Task<Void, Never>]>([])
  private let count: Int
  private let isClosed: Bool

  init(_ count: Int, isClosed: Bool) { (self.count, self.isClosed) = (count, isClosed) }

  func add(_ task: Task<Void, Never>) { tasks.withLock { $0.append(task) } }

  private func task(after index: Int) -> Task<Void, Never>? {
    tasks.withLock { $0.count == count ? $0[(index + 1) % count] : nil }
  }

  func waitForNext(of index: Int) async {
    while task(after: index) == nil { await Task.yield() }
    guard isClosed || index + 1 < count else {
      await Left.shared.visit()
      return await Handler().respond()
    }
    await task(after: index)?.value
  }
}

private actor Left {
  static let shared = Left()

  /// The place of each task of a ring with an even number.
  func hold(_ index: Int, _ ring: Ring) async { await ring.waitForNext(of: index) }

  /// Waits for a method of another actor that waits for a method of this one, which is no deadlock.
  func visit() async { await Right.shared.returnVisit() }

  func answer() {}
}

private actor Right {
  static let shared = Right()

  /// The place of each task of a ring with an odd number.
  func keep(_ index: Int, _ ring: Ring) async { await ring.waitForNext(of: index) }

  func returnVisit() async { await Left.shared.answer() }
}
