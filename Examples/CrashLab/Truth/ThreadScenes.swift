internal import Dispatch
internal import Glibc
internal import Postmortem
internal import Synchronization

/// The programs of the truth table whose threads wait: each is one service of a small server, in its own type.
///
/// The number of a program is its number in the table.
enum ThreadScenes {
  /// 1: `Inventory.reserve` and `Ledger.record` take the locks of both in opposite order.
  static func crossedLocks() {
    Truth.start { inventory.reserve(from: ledger) }
    Truth.start { ledger.record(in: inventory) }
  }

  private static let inventory = Inventory()
  private static let ledger = Ledger()

  /// 2: three services in a ring.
  static func ring() {
    let stages = (0..<3).map { _ in TruthLock() }
    Truth.start { Intake(own: stages[0], next: stages[1]).accept() }
    Truth.start { Billing(own: stages[1], next: stages[2]).charge() }
    Truth.start { Shipping(own: stages[2], next: stages[0]).send() }
  }

  /// 3: two locks crossed, and four further threads that wait for them.
  static func crossedLocksWithWaiters() {
    crossedLocks()
    for _ in 0..<4 {
      Truth.start {
        Truth.gate.wait(for: 2)
        Truth.note()
        inventory.lookUp()
      }
    }
  }

  /// 4: a `Mutex` whose owner computes.
  static func computingOwner() {
    let canvas = Canvas()
    Thread.start { canvas.render() }
    Truth.start {
      Truth.gate.wait(for: 1)
      Truth.note()
      canvas.resize()
    }
  }

  /// 5: two read-write locks crossed, through a wrapper class.
  static func crossedReadWriteLocks() {
    let (first, second) = (RWLock(), RWLock())
    Truth.start { Catalog(own: first, other: second).update() }
    Truth.start { Prices(own: second, other: first).update() }
  }

  /// 6: a reader sleeps, and a writer waits.
  static func sleepingReader() {
    let lock = RWLock()
    Thread.start { Report(lock: lock).build() }
    Truth.start {
      Truth.gate.wait(for: 1)
      Truth.note()
      Catalog(own: lock, other: lock).replace()
    }
  }

  /// 7: a lock that is taken twice by one thread.
  static func lockTwice() {
    let sessions = Sessions()
    Truth.start { sessions.close() }
  }

  /// 8: a condition that was signaled before the wait.
  static func lostSignal() {
    let mailbox = Mailbox()
    mailbox.post()
    Truth.start { mailbox.receive() }
  }

  /// 21: eleven threads share one hot lock, and nothing is stuck.
  static func convoy() {
    let counter = Counter()
    for _ in 0..<11 { Thread.start { counter.run() } }
  }

  /// 23 and 24: a cycle of waits that end by themselves after some time.
  static func limitedCycle(writes: Bool) {
    let locks = (0..<2).map { _ in LimitedLock(writes: writes) }
    for index in 0..<2 {
      Truth.start { Transfer(own: locks[index], other: locks[1 - index]).move() }
    }
  }

  /// 29: two lazy globals that need each other.
  ///
  /// Swift's runtime waits for them in a loop, so the threads never sleep.
  static func lazyGlobals() {
    Thread.start { Settings.first() }
    Thread.start { Settings.second() }
    Truth.gate.wait(for: 2)
  }

  /// 30: two hundred threads wait for one lock, whose owner reads from a silent peer.
  static func manyWaiters() {
    let pool = ConnectionPool()
    Thread.start { pool.fetch() }
    for _ in 0..<200 {
      Truth.start {
        Truth.gate.wait(for: 1)
        Truth.note()
        pool.release()
      }
    }
  }

  /// 31: the owner of a lock has ended.
  static func endedOwner() {
    let lock = TruthLock()
    Thread.start { lock.take() }.join()
    Truth.start {
      Truth.note()
      Audit(lock: lock).append()
    }
  }
}

/// Programs that are not in the table.
extension ThreadScenes {
  /// 101: a consumer waits for a condition and holds the lock that the producer needs.
  static func nestedWait() {
    let feed = Feed()
    Truth.start { feed.take() }
    Truth.start {
      Truth.gate.wait(for: 1)
      feed.put()
    }
  }

  /// 102: two of three threads wait at a barrier.
  static func missingPeer() {
    let phase = Phase(count: 3)
    for _ in 0..<2 { Truth.start { phase.finish() } }
  }

  /// 103: a robust lock that is taken twice by one thread.
  static func robustLockTwice() {
    let sessions = Sessions(lock: TruthLock(isRobust: true))
    Truth.start { sessions.close() }
  }

  /// 111: two semaphores that are used as locks and taken in opposite order.
  static func crossedSemaphores() {
    let permits = (0..<2).map { _ in TruthSemaphore() }
    for index in 0..<2 {
      Truth.start { Payment(own: permits[index], other: permits[1 - index]).pay() }
    }
  }
}

private final class Feed: Sendable {
  private let lock = TruthLock()
  private let mailbox = Mailbox()

  func take() {
    lock.withLock {
      Truth.gate.open()
      mailbox.receive()
    }
  }

  func put() {
    Truth.note()
    lock.withLock { mailbox.post() }
  }
}

@safe
private final class Phase: Sendable {
  nonisolated(unsafe) private let barrier = UnsafeMutablePointer<pthread_barrier_t>.allocate(
    capacity: 1)

  init(count: UInt32) { unsafe pthread_barrier_init(barrier, nil, count) }

  func finish() {
    Truth.note()
    unsafe pthread_barrier_wait(barrier)
  }
}

private struct Payment {
  let own, other: TruthSemaphore

  func pay() {
    own.take()
    Truth.meet(2)
    other.take()
  }
}

private final class Inventory: Sendable {
  fileprivate let lock = TruthLock()

  func reserve(from ledger: Ledger) {
    lock.take()
    Truth.meet(2)
    ledger.lock.take()
  }

  func lookUp() { lock.withLock { say("not reached") } }
}

private final class Ledger: Sendable {
  fileprivate let lock = TruthLock()

  func record(in inventory: Inventory) {
    lock.take()
    Truth.meet(2)
    inventory.lock.take()
  }
}

private struct Intake {
  let own, next: TruthLock

  func accept() {
    own.take()
    Truth.meet(3)
    next.take()
  }
}

private struct Billing {
  let own, next: TruthLock

  func charge() {
    own.take()
    Truth.meet(3)
    next.take()
  }
}

private struct Shipping {
  let own, next: TruthLock

  func send() {
    own.take()
    Truth.meet(3)
    next.take()
  }
}

private final class Counter: Sendable {
  private let lock = TruthLock()

  func run() {
    while Truth.runs.load(ordering: .relaxed) { lock.withLock { _ = usleep(100) } }
  }
}

private final class Canvas: Sendable {
  private let size = Mutex(1)

  func render() {
    size.withLock { size in
      Truth.gate.open()
      // The odd number never becomes 0.
      while size != 0 { size = size &* 6_364_136_223_846_793_005 }
    }
  }

  func resize() { size.withLock { $0 = 1 } }
}

private struct Catalog {
  let own, other: RWLock

  func update() {
    own.write {
      Truth.meet(2)
      other.write { say("not reached") }
    }
  }

  func replace() { own.write { say("not reached") } }
}

private struct Prices {
  let own, other: RWLock

  func update() {
    own.write {
      Truth.meet(2)
      other.write { say("not reached") }
    }
  }
}

private struct Report {
  let lock: RWLock

  func build() {
    lock.read {
      Truth.gate.open()
      while true { sleep(600) }
    }
  }
}

private final class Sessions: Sendable {
  private let lock: TruthLock

  init(lock: TruthLock = TruthLock()) { self.lock = lock }

  func close() { lock.withLock { count() } }

  func count() {
    Truth.note()
    lock.withLock { say("not reached") }
  }
}

@safe
private final class Mailbox: Sendable {
  nonisolated(unsafe) private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  nonisolated(unsafe) private let filled = UnsafeMutablePointer<pthread_cond_t>.allocate(
    capacity: 1)

  init() {
    unsafe pthread_mutex_init(lock, nil)
    unsafe pthread_cond_init(filled, nil)
  }

  func post() { unsafe pthread_cond_signal(filled) }

  func receive() {
    Truth.note()
    unsafe pthread_mutex_lock(lock)
    while true { unsafe pthread_cond_wait(filled, lock) }
  }
}

private struct Transfer {
  let own, other: LimitedLock

  func move() {
    own.take()
    Truth.meet(2)
    other.take()
  }
}

private enum Settings {
  static let timeout: Int = {
    Truth.gate.open()
    Truth.gate.wait(for: 2)
    return retries
  }()
  static let retries: Int = {
    Truth.gate.open()
    Truth.gate.wait(for: 2)
    return timeout
  }()

  static func first() { say(timeout) }
  static func second() { say(retries) }
}

private final class ConnectionPool: Sendable {
  private let connections = Mutex(0)

  func fetch() {
    connections.withLock { _ in
      Truth.gate.open()
      Truth.readFromSilentPeer()
    }
  }

  func release() { connections.withLock { $0 += 1 } }
}

private struct Audit {
  let lock: TruthLock

  func append() { lock.withLock { say("not reached") } }
}
