internal import IntermediateDump
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
  let ids: ThreadIDs

  init(_ snapshot: ProcessSnapshot, _ ownCode: OwnCode) {
    self.snapshot = snapshot
    self.ownCode = ownCode
    ids = ThreadIDs(of: snapshot)
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
  /// - Returns: nil for a thread that is not blocked in a known call, or if the arguments of the call are not known.
  func wait(of thread: ThreadSnapshot, _ frames: [StackFrame]) -> Wait? {
    guard let call = FutexCall(of: thread, in: snapshot) else {
      var wait = OtherCall(of: thread, in: snapshot)?.wait ?? swiftOnce(of: thread.id, frames)
      wait?.place = place(in: frames)
      return wait
    }
    let words = LockWords(memory: snapshot.memory, word: call.word)
    // Only frames that precede the first frame of the program's own code are examined, because that frame and its
    // callers do not belong to the wait.
    let inner = frames.prefix(Self.frameCount).prefix { !ownCode.contains($0) }
    let subject = Self.subject(of: inner.compactMap(\.linkageName))
    var wait: Wait
    if subject == .mutex, RefusedMutex.isRefused(call, of: thread) {
      wait = Wait(threadID: thread.id, .mutex, at: 0)
      wait.isRefused = true
    } else {
      wait = self.wait(
        of: thread.id, words, call, subject,
        isNameless: inner.prefix(4).allSatisfy { $0.function == nil })
    }
    wait.hasLimit = call.hasLimit
    wait.place = place(in: frames)
    return wait
  }

  /// The wait of a thread for Swift's initialization of a global variable; nil for another thread.
  ///
  /// While another thread initializes the variable, Swift's runtime calls futex(2) in a loop, and each call fails at
  /// once, so the thread runs and is not blocked. The function that waits also calls the initializer, so only the
  /// innermost frames are examined. Source: Swift lib/Threading/Linux.cpp, once_slow.
  private func swiftOnce(of id: UInt32, _ frames: [StackFrame]) -> Wait? {
    let isWaiting = frames.prefix(2).contains {
      $0.linkageName?.hasPrefix(Self.onceFunction) ?? false
    }
    return isWaiting ? Wait(threadID: id, .once, at: 0) : nil
  }

  private static let onceFunction = "_ZN5swift14threading_impl9once_slow"

  func place(in frames: [StackFrame]) -> String? { ownCode.waitingPlace(in: frames) }

  private func wait(
    of id: UInt32, _ words: LockWords, _ call: FutexCall, _ subject: Wait.Subject,
    isNameless: Bool
  ) -> Wait {
    var wait = Wait(threadID: id, subject, at: call.word)
    func hold(_ owner: LockWords.Owner?, isCertain: Bool = true) {
      guard let owner, let held = owner.id else { return }
      setOwner(held, of: &wait, isShared: owner.isShared)
      wait.isCertain =
        isCertain && owner.hasWaiter && !owner.isShared && (ids.areCertain || subject == .stream)
    }
    switch subject {
    case .mutex:
      var owner = words.mutex
      // Robust mutexes always have the flag of shared mutexes.
      if isPrivate(words.word) { owner?.isShared = false }
      hold(owner)
    // Newer versions of the module Synchronization use another operation, and the word contains no owner.
    case .swiftMutex where call.isOwnedWord: hold(words.ownedWord)
    case .ownedLock: hold(words.ownedWord)
    case .readLock, .writeLock:
      guard var lock = words.readWriteLock(reads: subject == .readLock) else { break }
      (wait.address, wait.readers) = (lock.start, lock.readers)
      lock.owner.isShared = !call.isPrivate
      hold(lock.owner)
    case .queue:
      guard let queue = words.queue(waitedForBy: ids.ownID(of: id) ?? id) else { break }
      (wait.address, wait.label) = (queue.address, queue.label)
      hold(LockWords.Owner(id: queue.owner, hasWaiter: true))
    case .thread:
      guard let ended = words.value(0), ended != 0 else { break }
      // The futex word is in the control block of the awaited thread. The address of the block is known only if the
      // handler stopped that thread, or if that thread crashed.
      let listed = ids.thread(ended)
      let pointer = snapshot.threads.first { $0.id == listed }?.threadPointer
      let above = pointer.map { call.word.wrappedDistance(above: $0) }
      let isNear = above.map { min($0, 0 &- $0) < 8192 } ?? (listed != nil)
      hold(LockWords.Owner(id: ended, hasWaiter: isNear))
    case .stream:
      guard let holder = words.long(8).flatMap({ byPointer[Address($0)] }) else { break }
      hold(LockWords.Owner(id: ids.ownID(of: holder) ?? holder, hasWaiter: words.value(0) == 2))
    case .unknown where call.isOwnedWord:
      wait.subject = .ownedLock
      hold(words.ownedWord, isCertain: false)
    case .unknown where isNameless:
      // Without the names of functions, a mutex is the only kind of lock that is recognized, and only if its owner is
      // one of the threads.
      guard let owner = words.mutex, owner.hasWaiter, let holder = owner.id,
        ids.thread(holder) != nil
      else { break }
      wait.subject = .mutex
      hold(owner, isCertain: false)
    case .unknown, .swiftMutex, .once, .allocator, .condition, .semaphore, .group, .barrier,
      .workItem, .operation, .future, .fileLock, .child, .write:
      break
    }
    return wait
  }

  /// True if the memory at an address belongs to this process only: shared memory always has the path of a file.
  private func isPrivate(_ address: Address) -> Bool {
    guard let mapping = snapshot.mapping(containing: address), mapping.isPrivate else {
      return false
    }
    return mapping.path.isEmpty || mapping.path.hasPrefix("[")
  }

  /// Finds the thread with an ID from a lock's memory.
  ///
  /// Another process can be in another PID namespace, where a thread can have the same ID as a thread of this process.
  /// So a lock that several processes share never shows that a thread waits for itself.
  private func setOwner(_ id: UInt32, of wait: inout Wait, isShared: Bool) {
    if let listed = ids.thread(id), !isShared || listed != wait.threadID {
      wait.owner = listed
      return
    }
    wait.absentOwner = Wait.AbsentOwner(id: id, kind: isShared ? .otherProcess : kind(of: id))
  }

  /// What is known about a thread that is not in the dump, but holds a lock of this process.
  private func kind(of id: UInt32) -> Wait.AbsentOwner.Kind {
    let capture = snapshot.capture
    let process = snapshot.process
    guard capture.isComplete, (capture.threadsOmitted ?? 0) == 0,
      !capture.partsNotShown.contains(.threads), ids.areCertain,
      snapshot.request?.kind != .coreFile
    else { return .unknown }
    // A process gets its ID before its threads, so a lower ID belongs to a thread of the parent.
    let isOlder = process.processID.map { id < $0 } ?? false
    return id == process.parentProcessID || isOlder ? .parentProcess : .ended
  }

  // MARK: - Functions

  private static func subject(of names: [String]) -> Wait.Subject {
    // These functions wait by means of a condition, a group or a futex word.
    if let outer = names.lazy.compactMap(outerSubject).first { return outer }
    var isPrivate = false
    for name in names {
      if name.hasPrefix("$s15Synchronization12_MutexHandleV9_lockSlow") { return .swiftMutex }
      if name.hasPrefix(onceFunction) { return .once }
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

  /// Source: swift-corelibs-foundation Sources/Foundation/Operation.swift, swift-corelibs-libdispatch src/queue.c,
  /// libstdc++ include/bits/atomic_futex.h.
  private static func outerSubject(_ name: String) -> Wait.Subject? {
    if name.hasPrefix("$s10Foundation9OperationC17waitUntilFinished")
      || name.hasPrefix("$s10Foundation14OperationQueueC")
    {
      return .operation
    }
    if name.hasPrefix("_ZNSt28__atomic_futex_unsigned_base") { return .future }
    return name == "dispatch_block_wait" ? .workItem : nil
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
        pthread_mutex_cond_lock_full pthread_mutex_timedlock pthread_mutex_clocklock \
        pthread_mutex_clocklock_common
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
      (.barrier, "pthread_barrier_wait"),
      (.once, "pthread_once pthread_once_slow cxa_guard_acquire"),
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
