internal import CCrashLab
internal import Glibc
internal import Synchronization

/// The programs of the truth table that wait for other processes.
enum ProcessScenes {
  /// 17: another process holds the lock of a file.
  static func lockedFile() {
    let journal = Journal()
    journal.lockInChild()
    Truth.start { journal.append() }
  }

  /// 18: a thread waits for a child while it holds a lock, for which another thread waits.
  static func childWithLock() {
    let runner = Runner()
    Truth.start { runner.run() }
    Truth.start {
      Truth.gate.wait(for: 1)
      runner.cancel()
    }
  }

  /// 19: a thread reads from a silent peer while it holds a lock, for which another thread waits.
  static func silentPeer() {
    let gateway = Gateway()
    Thread.start { gateway.receive() }
    Truth.start {
      Truth.gate.wait(for: 1)
      gateway.send()
    }
  }

  /// 25: a living child holds a lock that processes share.
  static func lockOfChild() {
    let cache = SharedCache()
    cache.lockInChild()
    Truth.start { cache.update() }
  }

  /// 32: the child of a process that held a lock at the fork waits for the lock.
  ///
  /// The parent only waits for the child, which is the program.
  static func lockOfParent() {
    let log = AccessLog()
    Thread.start { log.rotate() }
    Truth.gate.wait(for: 1)
    let child = crashlab_fork()
    guard child == 0 else {
      var status: Int32 = 0
      unsafe waitpid(child, &status, 0)
      exit(0)
    }
    Truth.start { log.append() }
  }
}

private final class Journal: Sendable {
  private let path = "/tmp/crash-lab-journal-\(getpid())"

  private func open() -> Int32 { unsafe Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600) }

  func lockInChild() {
    let descriptor = open()
    flock(descriptor, LOCK_EX)
    let child = crashlab_fork()
    if child == 0 {
      Truth.idleInChild()
    }
    // The child has its own copy of the descriptor, and the lock.
    close(descriptor)
  }

  func append() {
    let descriptor = open()
    unsafe unlink(path)
    Truth.note()
    flock(descriptor, LOCK_EX)
  }
}

private final class Runner: Sendable {
  private let lock = TruthLock()

  func run() {
    lock.withLock {
      let child = crashlab_fork()
      if child == 0 {
        Truth.idleInChild()
      }
      Truth.gate.open()
      Truth.note()
      var status: Int32 = 0
      unsafe waitpid(child, &status, 0)
    }
  }

  func cancel() {
    Truth.note()
    lock.withLock { say("not reached") }
  }
}

private final class Gateway: Sendable {
  private let lock = TruthLock()

  func receive() {
    lock.withLock {
      Truth.gate.open()
      Truth.readFromSilentPeer()
    }
  }

  func send() {
    Truth.note()
    lock.withLock { say("not reached") }
  }
}

private final class SharedCache: Sendable {
  private let lock: TruthLock
  private let isLocked: SharedFlag

  init() {
    let page = unsafe mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)
    guard let page = unsafe page else { exit(1) }
    lock = unsafe TruthLock(shared: page)
    isLocked = unsafe SharedFlag(page + 2048)
  }

  func lockInChild() {
    if crashlab_fork() == 0 {
      lock.take()
      isLocked.set()
      Truth.idleInChild()
    }
    isLocked.wait()
  }

  func update() {
    Truth.note()
    lock.withLock { say("not reached") }
  }
}

/// A flag in memory that processes share.
@safe
private struct SharedFlag: @unchecked Sendable {
  private let place: UnsafeMutablePointer<UInt32>

  init(_ place: UnsafeMutableRawPointer) {
    unsafe self.place = place.bindMemory(to: UInt32.self, capacity: 1)
  }

  func set() { unsafe place.pointee = 1 }
  func wait() { while unsafe place.pointee == 0 { usleep(1000) } }
}

private final class AccessLog: Sendable {
  private let lock = TruthLock()

  func rotate() {
    lock.withLock {
      Truth.gate.open()
      while true { sleep(600) }
    }
  }

  func append() {
    Truth.note()
    lock.withLock { say("not reached") }
  }
}
