internal import CCrashLab
internal import Dispatch
internal import Glibc
internal import Synchronization

/// Programs that are not in the truth table, whose threads wait for owners that no lock shows directly.
enum HiddenScenes {
  static let all: [String: @Sendable () -> Void] = [
    "113": { crashlab_cross_inheriting() }, "114": { crashlab_take_inheriting_twice() },
    "115": upgradeThroughWrapper, "116": upgradeDirectly, "117": barrierInSync,
    "118": stoppedChild, "119": spinningThreads, "120": readOther,
    "121": forgottenReader,
  ]

  /// 115: a thread that reads waits for the write lock of the same lock.
  private static func upgradeThroughWrapper() {
    let table = RouteTable()
    Truth.start { table.findOrInsert() }
  }

  /// 116: the same without a wrapper.
  private static func upgradeDirectly() {
    let table = HostTable()
    Truth.start { table.findOrInsert() }
  }

  /// 117: a barrier in a block that runs on the same concurrent queue.
  private static func barrierInSync() {
    let cache = ImageCache()
    Truth.start { cache.load() }
  }

  /// 118: a thread waits for a child that a signal has stopped.
  private static func stoppedChild() {
    let child = crashlab_fork_stopped()
    Truth.start { Importer(child: child).finish() }
  }

  /// 119: a thread computes with a lock whose waiters run in a loop.
  private static func spinningThreads() {
    let pool = ParticlePool()
    Thread.start { pool.simulate() }
    Truth.gate.wait(for: 1)
    for _ in 0..<2 { Thread.start { pool.add() } }
    usleep(300_000)
  }

  /// 120: a thread reads one lock and waits for the write lock of another, which another thread reads.
  private static func readOther() {
    let (routes, hosts) = (RWLock(), RWLock())
    Thread.start { Lookup(own: hosts, other: routes).dump() }
    Truth.start {
      Truth.gate.wait(for: 1)
      Lookup(own: routes, other: hosts).merge()
    }
  }

  /// 121: a thread that has ended never gave its read lock back.
  private static func forgottenReader() {
    let table = HostTable()
    Thread.start { table.find() }.join()
    Truth.start { table.insert() }
  }
}

private final class RouteTable: Sendable {
  private let lock = RWLock()

  @inline(never)
  func findOrInsert() {
    lock.read { insert() }
  }

  @inline(never)
  private func insert() {
    Truth.note()
    lock.write { say("not reached") }
  }
}

@safe
private final class HostTable: Sendable {
  nonisolated(unsafe) private let lock = UnsafeMutablePointer<pthread_rwlock_t>.allocate(
    capacity: 1)

  init() { unsafe pthread_rwlock_init(lock, nil) }

  @inline(never)
  func find() { unsafe pthread_rwlock_rdlock(lock) }

  @inline(never)
  func insert() {
    Truth.note()
    unsafe pthread_rwlock_wrlock(lock)
  }

  @inline(never)
  func findOrInsert() {
    find()
    insert()
  }
}

private struct Lookup {
  let own, other: RWLock

  @inline(never)
  func dump() {
    own.read {
      Truth.gate.open()
      while true { sleep(600) }
    }
  }

  @inline(never)
  func merge() {
    own.read {
      Truth.note()
      other.write { say("not reached") }
    }
  }
}

private final class ImageCache: Sendable {
  private let queue = DispatchQueue(label: "images", attributes: .concurrent)

  @inline(never)
  func load() {
    queue.sync { store() }
  }

  @inline(never)
  private func store() {
    Truth.note()
    queue.sync(flags: .barrier) { say("not reached") }
  }
}

private struct Importer {
  let child: Int32

  @inline(never)
  func finish() {
    Truth.note()
    var status: Int32 = 0
    unsafe waitpid(child, &status, 0)
  }
}

/// A lock whose waiters run.
private final class SpinLock: Sendable {
  private let isTaken = Atomic(false)

  @inline(never)
  func lock() {
    while isTaken.exchange(true, ordering: .acquiring) {}
  }

  func unlock() { isTaken.store(false, ordering: .releasing) }
}

private final class ParticlePool: Sendable {
  private let lock = SpinLock()

  @inline(never)
  func simulate() {
    lock.lock()
    Truth.gate.open()
    var value: UInt64 = 1
    // The odd number never becomes 0.
    while value != 0 { value = value &* 6_364_136_223_846_793_005 }
    lock.unlock()
  }

  @inline(never)
  func add() {
    lock.lock()
    say("not reached")
    lock.unlock()
  }
}
