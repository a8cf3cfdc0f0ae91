internal import CCrashLab
internal import Glibc
internal import Postmortem
internal import Synchronization

/// Works on many requests at once, each with a context and breadcrumbs of its own, and crashes in
/// one of them.
struct Working: Subcommand {
  /// The place of a crash in its request.
  enum Scene: String, CaseIterable {
    /// In a function that the request's task calls after an `await`.
    case task
    /// In a child task, of `async let`.
    case child
    /// In a child task of a group.
    case group
    /// In a `Task { }` that outlives the call of `withContext`.
    case outliving
    /// On a thread without a task.
    case thread
  }

  private let scene: Scene
  private let requests: Int
  private let database: String
  private let ledger: String

  init(_ arguments: Arguments) throws(UsageError) {
    let words = try arguments.words("SCENE", "REQUESTS", "LEDGER")
    scene = try Arguments.choice(words[0])
    guard let requests = Int(words[1]), requests > 0 else {
      throw UsageError("'\(words[1])' is no number of requests")
    }
    self.requests = requests
    ledger = words[2]
    database = try arguments.database
  }

  func run() throws {
    try startHandler(database: database, identifier: "worker")
    guard let ledger = Ledger(path: ledger, capacity: requests + 1 << 20) else {
      throw UsageError("no ledger \(ledger)")
    }
    let server = WorkingServer(scene: scene, requests: requests, ledger: ledger)
    for _ in 0..<2 { server.startThread() }
    for _ in 0..<32 { Task.detached { await server.work() } }
    while true { sleep(1) }
  }
}

/// Records the requests in a file that outlives the process: a 32-bit word with the number of the request that
/// crashes, one with the number of completed requests, and, from offset 64, a byte per request, 1 while it runs.
@safe
private struct Ledger: @unchecked Sendable {
  private static let headerSize = 64

  private let base: UnsafeMutableRawPointer
  private let capacity: Int

  init?(path: String, capacity: Int) {
    let size = Self.headerSize + capacity
    let file = unsafe open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard file >= 0, ftruncate(file, size) == 0,
      let base = unsafe mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0),
      unsafe base != MAP_FAILED
    else { return nil }
    unsafe self.base = base
    self.capacity = capacity
  }

  func setRunning(_ request: Int, _ isRunning: Bool) {
    guard request < capacity else { return }
    unsafe base.storeBytes(
      of: isRunning ? 1 : 0, toByteOffset: Self.headerSize + request, as: UInt8.self)
    if !isRunning { unsafe done.pointee.add(1, ordering: .relaxed) }
  }

  func setCrashing(_ request: Int) {
    unsafe base.storeBytes(of: UInt32(request), as: UInt32.self)
  }

  private var done: UnsafeMutablePointer<Atomic<UInt32>> {
    unsafe (base + 4).assumingMemoryBound(to: Atomic<UInt32>.self)
  }
}

/// Handles requests that suspend and start child tasks and other tasks.
private final class WorkingServer: Sendable {
  private let scene: Working.Scene
  private let requests: Int
  private let ledger: Ledger
  private let next = Atomic(1)

  init(scene: Working.Scene, requests: Int, ledger: Ledger) {
    self.scene = scene
    self.requests = requests
    self.ledger = ledger
  }

  private func take() -> Int { next.add(1, ordering: .relaxed).oldValue }

  /// The context values of a request, which depend only on its number.
  private static func id(_ request: Int) -> String { "request-\(request)" }
  private static func user(_ request: Int) -> String { "user-\(request &* 7919 % 100_003)" }

  private func crashes(_ request: Int, in scene: Working.Scene) -> Bool {
    request >= requests && scene == self.scene
  }

  private func crash(_ request: Int) {
    leaveBreadcrumb("\(Self.id(request)) crashes")
    // Two requests may get here. The second waits, so that the ledger has the request whose dump is taken.
    guard gate.exchange(true, ordering: .relaxed) == false else {
      while true { sleep(1) }
    }
    ledger.setCrashing(request)
    crash_builtin_trap()
  }

  private let gate = Atomic(false)

  // MARK: - Tasks

  func work() async {
    while true {
      let request = take()
      ledger.setRunning(request, true)
      let rest = await withContext("request-id", Self.id(request)) {
        await handle(request)
      }
      await rest.value
      ledger.setRunning(request, false)
    }
  }

  private func handle(_ request: Int) async -> Task<Void, Never> {
    leaveBreadcrumb("\(Self.id(request)) begins")
    await Task.yield()
    return await withContext("user", Self.user(request)) {
      async let child: Void = inChild(request)
      await Task.yield()
      inTask(request)
      await child
      await withTaskGroup(of: Void.self) { group in
        // This context ends before the child task does.
        withContext("part", "group-\(request)") {
          group.addTask { await self.inGroup(request) }
        }
      }
      return Task { await self.inOutliving(request) }
    }
  }

  private func inTask(_ request: Int) {
    withContext("part", "task-\(request)") {
      leaveBreadcrumb("\(Self.id(request)) task")
      if crashes(request, in: .task) { crash(request) }
    }
  }

  private func inChild(_ request: Int) async {
    await Task.yield()
    await withContext("part", "child-\(request)") {
      await Task.yield()
      leaveBreadcrumb("\(Self.id(request)) child")
      if crashes(request, in: .child) { crash(request) }
    }
  }

  private func inGroup(_ request: Int) async {
    await Task.yield()
    leaveBreadcrumb("\(Self.id(request)) group")
    if crashes(request, in: .group) { crash(request) }
  }

  private func inOutliving(_ request: Int) async {
    for _ in 0..<3 { await Task.yield() }
    if crashes(request, in: .outliving) { crash(request) }
  }

  // MARK: - Threads

  func startThread() { Thread.start { self.workOnThread() } }

  private func workOnThread() {
    while true {
      let request = take()
      ledger.setRunning(request, true)
      withContext("request-id", Self.id(request)) {
        leaveBreadcrumb("\(Self.id(request)) begins")
        withContext("user", Self.user(request)) {
          sched_yield()
          if crashes(request, in: .thread) { crash(request) }
        }
      }
      ledger.setRunning(request, false)
    }
  }
}
