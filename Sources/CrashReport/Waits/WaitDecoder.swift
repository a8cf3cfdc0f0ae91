internal import ProcessSnapshot
internal import Stackwalk

/// Decides which object a thread waits for, from the waiting functions and the memory of the lock.
///
/// If the lock's memory does not match a rule exactly, the report names no owner, because a wrong owner costs the
/// reader more time than no owner.
struct WaitDecoder {
  let snapshot: ProcessSnapshot
  let ownCode: OwnCode
  private let byPointer: [Address: UInt32]
  private let threads: Set<UInt32>

  init(_ snapshot: ProcessSnapshot, _ ownCode: OwnCode) {
    self.snapshot = snapshot
    self.ownCode = ownCode
    threads = Set(snapshot.threads.map(\.id))
    byPointer = Dictionary(
      snapshot.threads.compactMap { thread in thread.threadPointer.map { ($0, thread.id) } },
      uniquingKeysWith: { first, _ in first })
  }

  /// The maximum number of frames that are examined.
  ///
  /// More frames are not needed: the innermost frame whose function is in `functions` determines the kind of object,
  /// and is usually among these frames.
  private static let frameCount = 16

  /// - Parameter frames: the frames of the thread, innermost first.
  /// - Returns: nil for a thread that is not blocked in futex(2), or if the arguments of the call are not known.
  func wait(of thread: ThreadSnapshot, _ frames: [StackFrame]) -> Wait? {
    guard let call = FutexCall(of: thread, in: snapshot) else { return nil }
    let words = LockWords(memory: snapshot.memory, word: call.word)
    // Only frames that precede the first frame of the program's own code are examined, because that frame and its
    // callers do not belong to the wait.
    let inner = frames.prefix(Self.frameCount).prefix { !ownCode.contains($0) }
    var wait = wait(
      of: thread.id, words, call, Self.subject(of: inner.compactMap(\.linkageName)),
      isNameless: inner.prefix(4).allSatisfy { $0.function == nil })
    if wait.owner == nil { wait.isCertain = false }
    wait.place = place(in: frames)
    return wait
  }

  /// The innermost call of the program's own code that is not a method of a lock; this call shows the reader which lock
  /// the thread waits for.
  ///
  /// If all calls of the program's own code are methods of locks, the innermost one is used.
  func place(in frames: [StackFrame]) -> String? {
    let rest = frames.drop { !ownCode.contains($0) || LockMethod.contains($0) }
    return ownCode.place(in: Array(rest)) ?? ownCode.place(in: frames)
  }

  private func wait(
    of id: UInt32, _ words: LockWords, _ call: FutexCall, _ subject: Wait.Subject,
    isNameless: Bool
  ) -> Wait {
    var wait = Wait(threadID: id, subject, at: call.word)
    func hold(_ owner: LockWords.Owner?, isCertain: Bool = true) {
      wait.owner = owner?.id
      wait.isCertain = isCertain && owner?.hasWaiter == true
    }
    switch subject {
    case .mutex: hold(words.mutex)
    case .swiftMutex: hold(words.ownedWord, isCertain: call.isOwnedWord)
    case .ownedLock: hold(words.ownedWord)
    case .readLock, .writeLock:
      guard let lock = words.readWriteLock(reads: subject == .readLock) else { break }
      (wait.address, wait.readers) = (lock.start, lock.readers)
      hold(lock.owner)
    case .queue:
      guard let queue = words.queue(waitedForBy: id) else { break }
      (wait.address, wait.label) = (queue.address, queue.label)
      hold(LockWords.Owner(id: queue.owner, hasWaiter: true))
    case .thread:
      guard let ended = words.value(0), ended != 0 else { break }
      // The futex word is in the control block of the awaited thread. The address of the block is known only if the
      // handler stopped that thread, or if that thread crashed.
      let pointer = snapshot.threads.first { $0.id == ended }?.threadPointer
      let above = pointer.map { call.word.wrappedDistance(above: $0) }
      let isNear = above.map { min($0, 0 &- $0) < 8192 } ?? threads.contains(ended)
      hold(LockWords.Owner(id: ended, hasWaiter: isNear))
    case .stream:
      let holder = words.long(8).flatMap { byPointer[Address($0)] }
      hold(LockWords.Owner(id: holder, hasWaiter: words.value(0) == 2))
    case .unknown where call.isOwnedWord:
      wait.subject = .ownedLock
      hold(words.ownedWord, isCertain: false)
    case .unknown where isNameless:
      // Without the names of functions, a mutex is the only kind of lock that is recognized, and only if its owner is
      // one of the threads.
      guard let owner = words.mutex, owner.hasWaiter, let holder = owner.id,
        threads.contains(holder)
      else { break }
      wait.subject = .mutex
      hold(owner, isCertain: false)
    case .unknown, .once, .allocator, .condition, .semaphore, .group: break
    }
    return wait
  }

  // MARK: - Functions

  private static func subject(of names: [String]) -> Wait.Subject {
    var isPrivate = false
    for name in names {
      if name.hasPrefix("$s15Synchronization12_MutexHandleV9_lockSlow") { return .swiftMutex }
      let plain = name.prefix { $0 != "@" && $0 != "." }.drop { $0 == "_" }
      if plain == "lll_lock_wait_private" { isPrivate = true }
      guard let subject = functions[String(plain)] else { continue }
      switch subject {
      case .allocator, .stream:
        if isPrivate || subject == .stream { return subject }
      default: return subject
      }
    }
    return .unknown
  }

  /// The kind of object that each waiting function waits for, by the function's name without leading underscores.
  ///
  /// Source: the symbols of glibc 2.36, and of libdispatch in Swift 6.3.
  private static let functions: [String: Wait.Subject] = {
    let names: [(Wait.Subject, String)] = [
      (
        .mutex,
        """
        pthread_mutex_lock pthread_mutex_lock_full pthread_mutex_cond_lock \
        pthread_mutex_cond_lock_full pthread_mutex_timedlock pthread_mutex_clocklock
        """
      ),
      (.readLock, "pthread_rwlock_rdlock pthread_rwlock_timedrdlock pthread_rwlock_clockrdlock"),
      (.writeLock, "pthread_rwlock_wrlock pthread_rwlock_timedwrlock pthread_rwlock_clockwrlock"),
      (.condition, "pthread_cond_wait pthread_cond_timedwait pthread_cond_clockwait cnd_wait"),
      (.thread, "pthread_join pthread_timedjoin_np pthread_clockjoin_np pthread_clockjoin_ex"),
      (
        .semaphore,
        """
        sem_wait new_sem_wait new_sem_wait_slow64 sem_timedwait sem_clockwait \
        dispatch_sema4_wait dispatch_sema4_timedwait dispatch_semaphore_wait \
        dispatch_semaphore_wait_slow
        """
      ),
      (
        .queue,
        "dispatch_thread_event_wait_slow DISPATCH_WAIT_FOR_QUEUE__ dispatch_sync_f_slow"
      ),
      (.ownedLock, "dispatch_unfair_lock_lock_slow dispatch_once_wait"),
      (.group, "dispatch_group_wait dispatch_group_wait_slow"),
      (.once, "pthread_once pthread_once_slow"),
      (.stream, "flockfile fputs fwrite fprintf printf puts fflush fclose vfprintf fgets fread"),
      (
        .allocator,
        """
        malloc free calloc realloc memalign aligned_alloc posix_memalign cfree libc_malloc \
        libc_free libc_calloc libc_realloc libc_memalign int_malloc int_free int_realloc \
        malloc_info mallinfo2 malloc_trim
        """
      ),
    ]
    return Dictionary(
      names.flatMap { subject, words in words.split(separator: " ").map { (String($0), subject) } },
      uniquingKeysWith: { first, _ in first })
  }()
}
