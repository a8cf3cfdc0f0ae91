internal import CSignalSafe
internal import Dispatch
internal import Glibc
internal import Postmortem
internal import Synchronization

/// Threads in a deadlock, or threads that only wait.
struct Locks: Subcommand {
  private enum Scene: String, CaseIterable {
    /// Two or three threads, each with a lock for which the previous thread waits.
    case mutex2 = "mutex-2"
    case mutex3 = "mutex-3"
    /// The same with a thread and a task, which blocks its thread of the cooperative pool.
    case mutexTask = "mutex-task"
    case write2 = "write-2"
    case write3 = "write-3"
    case queue2 = "queue-2"
    case queue3 = "queue-3"
    /// The kernel refuses the wait that closes the cycle, and the Swift runtime ends the process.
    case swift2 = "swift-2"
    case swift3 = "swift-3"
    /// One thread that waits for its own lock; the last two end the process.
    case mutexSelf = "mutex-self"
    case swiftSelf = "swift-self"
    case queueSelf = "queue-self"
    /// A lock of each kind whose owner waits for no lock.
    case mutexHeld = "mutex-held"
    case swiftHeld = "swift-held"
    case writeHeld = "write-held"
    case readHeld = "read-held"
    case queueHeld = "queue-held"
    case joined
    /// Waits for something without an owner.
    case semaphore
    case condition
    /// Threads that continuously take two of four locks, always in the same order.
    case contended
  }

  private enum Manner: String, CaseIterable {
    /// Waits until another process ends it.
    case waits
    /// The first thread has a hang monitor.
    case watched
    /// Takes a dump that stops the threads.
    case dumps
  }

  private let scene: Scene
  private let manner: Manner
  private let database: String

  init(_ arguments: Arguments) throws(UsageError) {
    let words = try arguments.words("SCENE", "MANNER")
    scene = try Arguments.choice(words[0])
    manner = try Arguments.choice(words[1])
    database = try arguments.database
  }

  func run() throws {
    let handler = CrashLab.start(database)
    if manner == .watched {
      let options = HangMonitor.Options(threshold: .milliseconds(300))
      let monitor = try HangMonitor.heartbeat(name: "first", options: options)
      play { monitor.heartbeat() }
    } else {
      play {}
    }
    waitUntilBlocked()
    say("blocked")
    if manner == .dumps {
      try handler.dumpWithoutCrash(stopsThreads: true)
      exit(0)
    }
    waitForEver()
  }

  /// - Parameter announce: called by the first thread before it waits.
  private func play(_ announce: @escaping @Sendable () -> Void) {
    switch scene {
    case .mutex2: cycle(of: (0..<2).map { _ in PthreadMutex() }, announce)
    case .mutex3: cycle(of: (0..<3).map { _ in PthreadMutex() }, announce)
    case .mutexTask: cycle(of: (0..<2).map { _ in PthreadMutex() }, endsInTask: true, announce)
    case .write2: cycle(of: (0..<2).map { _ in ReadWriteLock() }, announce)
    case .write3: cycle(of: (0..<3).map { _ in ReadWriteLock() }, announce)
    case .queue2: cycle(of: (0..<2).map { Queue($0) }, announce)
    case .queue3: cycle(of: (0..<3).map { Queue($0) }, announce)
    case .swift2: cycle(of: (0..<2).map { _ in SwiftMutex() }, announce)
    case .swift3: cycle(of: (0..<3).map { _ in SwiftMutex() }, announce)
    case .mutexSelf: cycle(of: [PthreadMutex()], announce)
    case .swiftSelf: cycle(of: [SwiftMutex()], announce)
    case .queueSelf: cycle(of: [Queue(0)], announce)
    case .mutexHeld: hold(PthreadMutex(), announce)
    case .swiftHeld: hold(SwiftMutex(), announce)
    case .writeHeld: hold(ReadWriteLock(), announce)
    case .readHeld: hold(ReadLock(), announce)
    case .queueHeld: hold(Queue(0), announce)
    case .joined:
      let worker = Thread.start(holdForEver)
      startWaiter(announce) { worker.join() }
    case .semaphore:
      let semaphore = DispatchSemaphore(value: 0)
      startWaiter(announce) { semaphore.wait() }
    case .condition: startWaiter(announce, waitForCondition)
    case .contended: contend(for: (0..<4).map { _ in PthreadMutex() })
    }
  }

  // MARK: - Threads

  /// Each thread holds a lock, and takes that of the next one once all are held.
  ///
  /// - Parameter endsInTask: true if the last one is a task instead of a thread.
  private func cycle(
    of locks: [any Lock], endsInTask: Bool = false, _ announce: @escaping @Sendable () -> Void
  ) {
    for index in locks.indices {
      let (own, next) = (locks[index], locks[(index + 1) % locks.count])
      expected.add(1, ordering: .relaxed)
      let block: @Sendable () -> Void = {
        own.withLock {
          held.add(1, ordering: .relaxed)
          while held.load(ordering: .relaxed) < locks.count { usleep(1000) }
          if index == 0 { announce() }
          note()
          takeSecond(next)
        }
      }
      if endsInTask, index == locks.count - 1 {
        Task.detached { block() }
      } else {
        Thread.start(block)
      }
    }
  }

  /// The function in which each thread of a cycle waits.
  @inline(never)
  private func takeSecond(_ lock: any Lock) {
    lock.withLock { say("not reached") }
  }

  private func contend(for locks: [PthreadMutex]) {
    for _ in 0..<6 {
      Thread.start {
        while true {
          let first = Int.random(in: 0..<3)
          locks[first].withLock { locks[Int.random(in: first + 1..<4)].withLock { usleep(100) } }
        }
      }
    }
  }

  private func hold(_ lock: any Lock, _ announce: @escaping @Sendable () -> Void) {
    Thread.start { lock.withLock { holdForEver() } }
    startWaiter(announce) {
      (lock is ReadLock ? ReadWriteLock(lock as? ReadLock) : lock).withLock {}
    }
  }

  /// The function of a thread for which another thread waits.
  @inline(never)
  private func holdForEver() {
    held.add(1, ordering: .relaxed)
    while true { sleep(1) }
  }

  private func startWaiter(
    _ announce: @escaping @Sendable () -> Void, _ wait: @escaping @Sendable () -> Void
  ) {
    expected.add(1, ordering: .relaxed)
    Thread.start {
      while scene != .semaphore, scene != .condition, held.load(ordering: .relaxed) == 0 {
        usleep(1000)
      }
      announce()
      note()
      waitOnce(wait)
    }
  }

  /// The function in which a thread waits outside of a cycle.
  @inline(never)
  private func waitOnce(_ wait: () -> Void) {
    wait()
    say("not reached")
  }

  // MARK: - Waiting until threads block

  /// Records the current thread, which is about to wait.
  private func note() {
    waiters.withLock { $0.append("self/task/\(pm_gettid())") }
  }

  /// Returns once `/proc` shows each recorded thread in futex(2).
  private func waitUntilBlocked() {
    let wanted = expected.load(ordering: .relaxed)
    while true {
      let waiting = waiters.withLock { $0 }.filter(isInFutex)
      if waiting.count == wanted { return }
      usleep(5000)
    }
  }

  private func isInFutex(_ thread: String) -> Bool {
    guard let file = unsafe fopen("/proc/\(thread)/syscall", "r") else { return false }
    defer { unsafe fclose(file) }
    var number: Int32 = -1
    #if arch(arm64)
      let futex: Int32 = 98
    #else
      let futex: Int32 = 202
    #endif
    return unsafe withUnsafeMutablePointer(to: &number) { place in
      unsafe withVaList([place]) { unsafe vfscanf(file, "%d", $0) }
    } == 1 && number == futex
  }
}

private let held = Atomic(0)
private let expected = Atomic(0)
private let waiters = Mutex<[String]>([])

private func waitForCondition() {
  let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  unsafe pthread_mutex_init(lock, nil)
  unsafe pthread_cond_init(condition, nil)
  unsafe pthread_mutex_lock(lock)
  while true { unsafe pthread_cond_wait(condition, lock) }
}

// MARK: - Locks

private protocol Lock: Sendable {
  func withLock(_ body: () -> Void)
}

@safe
private struct PthreadMutex: Lock, @unchecked Sendable {
  private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

  init() { unsafe pthread_mutex_init(lock, nil) }

  func withLock(_ body: () -> Void) {
    unsafe pthread_mutex_lock(lock)
    body()
    unsafe pthread_mutex_unlock(lock)
  }
}

@safe
private struct ReadWriteLock: Lock, @unchecked Sendable {
  private let lock: UnsafeMutablePointer<pthread_rwlock_t>

  /// - Parameter other: a read lock whose `pthread_rwlock_t` this lock takes for writing.
  init(_ other: ReadLock? = nil) {
    unsafe lock = other?.lock ?? .allocate(capacity: 1)
    if other == nil { unsafe pthread_rwlock_init(lock, nil) }
  }

  func withLock(_ body: () -> Void) {
    unsafe pthread_rwlock_wrlock(lock)
    body()
    unsafe pthread_rwlock_unlock(lock)
  }
}

@safe
private struct ReadLock: Lock, @unchecked Sendable {
  fileprivate let lock = UnsafeMutablePointer<pthread_rwlock_t>.allocate(capacity: 1)

  init() { unsafe pthread_rwlock_init(lock, nil) }

  func withLock(_ body: () -> Void) {
    unsafe pthread_rwlock_rdlock(lock)
    body()
    unsafe pthread_rwlock_unlock(lock)
  }
}

private final class SwiftMutex: Lock {
  private let lock = Mutex(0)

  func withLock(_ body: () -> Void) {
    lock.withLock { _ in body() }
  }
}

private struct Queue: Lock {
  private let queue: DispatchQueue

  init(_ index: Int) { queue = DispatchQueue(label: "crash-lab.\(index)") }

  func withLock(_ body: () -> Void) { queue.sync(execute: body) }
}
