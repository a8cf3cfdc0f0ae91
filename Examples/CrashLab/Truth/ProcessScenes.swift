internal import CCrashLab
internal import CSignalSafe
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

  /// 20: a thread writes to a disk that does not answer while it holds a lock, for which another thread waits.
  static func slowDisk() {
    let database = Database()
    Thread.start { database.commit() }
    Truth.start {
      Truth.gate.wait(for: 1)
      database.read()
    }
  }

  /// 25: a living child holds a lock that processes share.
  static func lockOfChild() {
    let cache = SharedCache()
    cache.lockInChild()
    Truth.start { cache.update() }
  }

  /// 26: a thread of another PID namespace, whose ID there is that of the waiting thread, holds a lock that processes
  /// share.
  static func lockOfOtherNamespace() {
    let cache = SharedCache()
    Truth.start {
      Truth.ownID.store(pm_gettid(), ordering: .releasing)
      Truth.gate.wait(for: 1)
      cache.update()
    }
    cache.lockInOtherNamespace()
    Truth.gate.open()
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

/// Programs that are not in the table.
extension ProcessScenes {
  /// 105: this process and its child write to each other, and neither reads.
  static func fullPipes() {
    let (requests, answers) = (Truth.pipe(), Truth.pipe())
    let peer = Peer()
    if crashlab_fork() == 0 {
      // The child ends once its parent, the only reader, has ended.
      for end in [requests.read, requests.write, answers.read] { close(end) }
      signal(SIGPIPE, SIG_DFL)
      peer.send(through: answers.write)
      _exit(0)
    }
    close(answers.write)
    Truth.start {
      Truth.note()
      peer.send(through: requests.write)
    }
  }

  /// 109: the main thread waits for a child.
  static func mainWaitsForChild() {
    Truth.mainWork.withLock { $0 = { Runner().run() } }
  }

  /// 110: the main thread reads from a silent peer while it holds a lock, for which another thread waits.
  static func mainReadsWithLock() {
    let gateway = Gateway()
    Thread.start {
      Truth.gate.wait(for: 1)
      gateway.send()
    }
    Truth.mainWork.withLock { $0 = { gateway.receive() } }
  }
}

private struct Peer {
  func send(through descriptor: Int32) {
    let message = [UInt8](repeating: 1, count: 1 << 16)
    while true { _ = unsafe write(descriptor, message, message.count) }
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

private final class Database: Sendable {
  private let lock = TruthLock()

  func commit() {
    lock.withLock {
      let directory = unsafe Glibc.open("/tmp", O_RDONLY | O_CLOEXEC)
      guard crashlab_stop_disk() >= 0 else { exit(EX_OSERR) }
      Truth.gate.open()
      Truth.note()
      fsync(directory)
    }
  }

  func read() {
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

  /// Locks in a thread of another PID namespace whose ID there is that of the waiting thread here.
  ///
  /// The IDs of a namespace begin with 1 and have no gaps.
  func lockInOtherNamespace() {
    while Truth.ownID.load(ordering: .acquiring) == 0 { usleep(1000) }
    let wanted = Truth.ownID.load(ordering: .acquiring)
    let child = crashlab_fork_into_namespace()
    if child == -1 { exit(EX_OSERR) }
    if child == 0 {
      Truth.ownID.store(1, ordering: .relaxed)
      while Truth.ownID.load(ordering: .relaxed) < wanted - 1 {
        Thread.start { Truth.ownID.store(pm_gettid(), ordering: .relaxed) }.join()
      }
      Thread.start {
        guard pm_gettid() == wanted else { _exit(1) }
        self.lock.take()
        self.isLocked.set()
        waitForEver()
      }
      waitForEver()
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
