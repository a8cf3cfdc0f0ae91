internal import IntermediateDump
internal import ProcessSnapshot

/// Reads the memory of a lock in a dump or a core file.
///
/// Source: glibc 2.36 sysdeps/nptl/bits/struct_mutex.h, nptl/pthread_mutex_lock.c,
/// nptl/pthread_rwlock_common.c.
///
/// The layouts of glibc's mutexes and rwlocks have not changed since glibc 2.25, and are part of its ABI.
struct LockWords {
  let memory: MemorySnapshot
  /// The address of the word on which a thread waits.
  let word: Address

  /// The owner of a lock, and whether the lock's memory shows that a thread waits.
  struct Owner: Equatable {
    /// The owner's ID in the PID namespace of the owner.
    var id: UInt32?
    var hasWaiter: Bool
    /// True if threads of other processes can have the lock.
    var isShared = false
  }

  /// The 32-bit number at an offset from the word; nil if it was not captured.
  func value(_ offset: Int64) -> UInt32? {
    memory.bytes(at: place(offset), count: 4)?.littleEndian(at: 0, as: UInt32.self)
  }

  func long(_ offset: Int64) -> UInt64? { memory.word(at: place(offset)) }

  /// The address at an offset from the word.
  func place(_ offset: Int64) -> Address { Address(word.value &+ UInt64(bitPattern: offset)) }

  /// The owner of a lock whose word follows the kernel's rule for FUTEX_LOCK_PI, as libdispatch's locks do.
  ///
  /// The word contains the owner's thread ID and the bit FUTEX_WAITERS.
  var ownedWord: Owner? {
    guard let value = value(0) else { return nil }
    return Owner(id: (value & 0x3FFF_FFFF).nonzero, hasWaiter: value >> 31 == 1)
  }

  /// The owner of the `pthread_mutex_t` that begins at the word; nil if the bytes were not captured or are not a mutex.
  var mutex: Owner? {
    guard let lock = value(0), let owner = value(8), let kind = value(16),
      // The allowed bits stand for the type, for robust, priority-inheriting, priority-protected and shared mutexes,
      // and for elision.
      kind & ~0x3F3 == 0
    else { return nil }
    // In robust mutexes, and in mutexes with priority inheritance, the futex word itself contains the owner's thread
    // ID.
    let isShared = kind & 0x80 != 0
    if kind & 0x30 != 0 {
      let inWord = lock & 0x3FFF_FFFF
      return Owner(
        id: inWord.nonzero, hasWaiter: lock >> 31 == 1 && inWord == owner, isShared: isShared)
    }
    // The value 1 means locked, and 2 means locked with a waiter; the bits above can contain a priority ceiling.
    guard lock & 3 != 0, kind & 0x40 != 0 || lock <= 2 else { return Owner(hasWaiter: false) }
    return Owner(id: owner.nonzero, hasWaiter: lock & 3 == 2, isShared: isShared)
  }

  /// The `pthread_rwlock_t` that contains the futex word on which the thread waits; nil if the bytes were not captured
  /// or are not such a lock.
  ///
  /// The memory of the lock contains the number of readers but not their thread IDs. The word on which a thread waits
  /// can be the futex word for the phase, for the writers, or for the readers.
  func readWriteLock(reads: Bool) -> (start: Address, owner: Owner, readers: Int)? {
    /// Reads the lock, if `word` is at the given offset in it.
    func lock(_ offset: Int64) -> (start: Address, owner: Owner, readers: Int)? {
      guard let readers = value(0 &- offset), let writer = value(24 &- offset) else { return nil }
      let isWriting = readers & 3 == 3
      return (
        place(0 &- offset), Owner(id: isWriting ? writer.nonzero : nil, hasWaiter: isWriting),
        isWriting ? 0 : Int(readers >> 3)
      )
    }
    switch value(0) {
    // The value 3 consists of the bit for waiters, and the bit for a write phase or a writer.
    case 3: return lock(reads ? 8 : 12)
    case 2: return reads ? nil : lock(8)
    // Readers hold the lock, and this reader waits because the lock prefers a waiting writer.
    case let value? where reads && value & 6 == 6 && value >> 3 > 0: return lock(0)
    default: return nil
    }
  }

  /// The queue that a call of `sync` waits for.
  ///
  /// The search follows the chain of target queues for at most four queues, starting with the queue of the call, and
  /// returns the first queue that another thread runs. If there is none, the result is the queue of the call, without
  /// an owner.
  ///
  /// Source: swift-corelibs-libdispatch src/queue_internal.h, dispatch_sync_context_s.
  ///
  /// In `dispatch_sync_context_s`, the queue is at byte 56, the event at byte 96, and the waiting thread after the
  /// event. In the queue, the target is at byte 24, the state at byte 56, and the label at byte 72.
  func queue(waitedForBy thread: UInt32) -> (address: Address, owner: UInt32?, label: String?)? {
    guard value(0) == .max, value(4) == thread, var address = long(-40) else { return nil }
    var first: (address: Address, owner: UInt32?, label: String?)?
    for _ in 0..<4 {
      guard let state = memory.word(at: Address(address &+ 56)) else { break }
      let label = memory.word(at: Address(address &+ 72)).flatMap {
        memory.text(at: Address($0), limit: 64)
      }
      let owner = (UInt32(truncatingIfNeeded: state) & 0x3FFF_FFFF).nonzero
      let name = label.flatMap { $0.isEmpty ? nil : $0 }
      if let owner, owner != thread { return (Address(address), owner, name) }
      if first == nil { first = (Address(address), nil, name) }
      guard let target = memory.word(at: Address(address &+ 24)), target != 0 else { break }
      address = target
    }
    return first
  }
}

extension UInt32 {
  fileprivate var nonzero: UInt32? { self == 0 ? nil : self }
}
