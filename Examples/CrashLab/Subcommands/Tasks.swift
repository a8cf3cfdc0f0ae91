internal import Dispatch
internal import Glibc
internal import Postmortem
internal import Synchronization

/// Tasks of Swift concurrency, most of which no thread runs.
struct Tasks: Subcommand {
  private enum Scene: String, CaseIterable {
    /// Each waits for a continuation that nothing resumes; every tenth is canceled.
    case leaked
    /// One waits for its two `async let`, one for the COUNT children of its group, and one for that one.
    case children
    /// Each blocks its thread, so that those for which the pool has no thread are ready.
    case starved
    /// One blocks an actor, and COUNT wait for that actor.
    case actor
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
        let task = Task.detached { await Handler().respond() }
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

  func follow(_ task: Task<Void, Never>) async { await task.value }

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
  func serve() async { say("not reached") }
}
