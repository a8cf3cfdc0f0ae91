internal import Glibc
internal import Synchronization

/// A lock of a server, as many packages write it.
@safe
struct TruthLock: @unchecked Sendable {
  private let lock: UnsafeMutablePointer<pthread_mutex_t>

  init(isRobust: Bool = false) {
    unsafe lock = .allocate(capacity: 1)
    var attributes = pthread_mutexattr_t()
    unsafe pthread_mutexattr_init(&attributes)
    if isRobust { unsafe pthread_mutexattr_setrobust(&attributes, Int32(PTHREAD_MUTEX_ROBUST)) }
    unsafe pthread_mutex_init(lock, &attributes)
  }

  /// Makes a lock in memory that processes share.
  init(shared place: UnsafeMutableRawPointer) {
    unsafe lock = place.bindMemory(to: pthread_mutex_t.self, capacity: 1)
    var attributes = pthread_mutexattr_t()
    unsafe pthread_mutexattr_init(&attributes)
    unsafe pthread_mutexattr_setpshared(&attributes, Int32(PTHREAD_PROCESS_SHARED))
    unsafe pthread_mutex_init(lock, &attributes)
  }

  func withLock<Result>(_ body: () -> Result) -> Result {
    take()
    defer { unsafe pthread_mutex_unlock(lock) }
    return body()
  }

  func take() { unsafe pthread_mutex_lock(lock) }
}

/// A semaphore with the value 1, which is used as a lock.
@safe
struct TruthSemaphore: @unchecked Sendable {
  private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

  init() { unsafe sem_init(semaphore, 0, 1) }

  func take() { unsafe sem_wait(semaphore) }
}

/// A read-write lock.
@safe
struct RWLock: @unchecked Sendable {
  private let lock = UnsafeMutablePointer<pthread_rwlock_t>.allocate(capacity: 1)

  init() { unsafe pthread_rwlock_init(lock, nil) }

  func read(_ body: () -> Void) {
    unsafe pthread_rwlock_rdlock(lock)
    body()
    unsafe pthread_rwlock_unlock(lock)
  }

  func write(_ body: () -> Void) {
    unsafe pthread_rwlock_wrlock(lock)
    body()
    unsafe pthread_rwlock_unlock(lock)
  }
}

/// A lock that is waited for at most ten minutes.
@safe
struct LimitedLock: @unchecked Sendable {
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let rwlock = UnsafeMutablePointer<pthread_rwlock_t>.allocate(capacity: 1)
  private let writes: Bool

  init(writes: Bool) {
    self.writes = writes
    unsafe pthread_mutex_init(mutex, nil)
    unsafe pthread_rwlock_init(rwlock, nil)
  }

  func take() {
    var deadline = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &deadline)
    deadline.tv_sec += 600
    if writes {
      unsafe pthread_rwlock_timedwrlock(rwlock, &deadline)
    } else {
      unsafe pthread_mutex_timedlock(mutex, &deadline)
    }
  }
}
