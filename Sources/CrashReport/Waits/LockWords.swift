internal import IntermediateDump
internal import ProcessSnapshot

/// The memory of a lock in the dump or the core file.
///
/// Source: glibc 2.36 sysdeps/nptl/bits/struct_mutex.h, nptl/pthread_mutex_lock.c,
/// nptl/pthread_rwlock_common.c; the layouts have not changed since 2.25 and are part of the ABI.
struct LockWords {
  let memory: MemorySnapshot
  /// The word that a thread waits at.
  let word: Address

  /// The owner that a word contains, and whether a thread waits.
  struct Owner: Equatable {
    var id: UInt32?
    var hasWaiter: Bool
  }

  /// The word at an offset; nil if it is not known.
  func value(_ offset: Int64) -> UInt32? {
    memory.bytes(at: place(offset), count: 4)?.littleEndian(at: 0, as: UInt32.self)
  }

  func long(_ offset: Int64) -> UInt64? { memory.word(at: place(offset)) }

  /// The address at an offset from the word.
  func place(_ offset: Int64) -> Address { Address(word.value &+ UInt64(bitPattern: offset)) }

  /// The owner by the kernel's rule for FUTEX_LOCK_PI, which libdispatch also follows: the thread's ID, and
  /// FUTEX_WAITERS.
  var ownedWord: Owner? {
    guard let value = value(0) else { return nil }
    return Owner(id: (value & 0x3FFF_FFFF).nonzero, hasWaiter: value >> 31 == 1)
  }

  /// A `pthread_mutex_t` that begins with the word; nil if the bytes are not a mutex.
  var mutex: Owner? {
    guard let lock = value(0), let owner = value(8), let kind = value(16),
      // Type, robust, priority inheritance and protection, shared, elision.
      kind & ~0x3F3 == 0
    else { return nil }
    // Robust mutexes and those with priority inheritance have the owner in the word.
    if kind & 0x30 != 0 {
      let inWord = lock & 0x3FFF_FFFF
      return Owner(id: inWord.nonzero, hasWaiter: lock >> 31 == 1 && inWord == owner)
    }
    // 1 means locked, 2 locked with a waiter; a priority ceiling is in the bits above.
    guard lock & 3 != 0, kind & 0x40 != 0 || lock <= 2 else { return Owner(hasWaiter: false) }
    return Owner(id: owner.nonzero, hasWaiter: lock & 3 == 2)
  }

  /// A `pthread_rwlock_t` around the word; nil if the bytes are not such a lock.
  ///
  /// Its memory has the number of readers but not their IDs. The word is the one of the phases, of the writers, or of
  /// the readers.
  func readWriteLock(reads: Bool) -> (start: Address, owner: Owner, readers: Int)? {
    /// The words of the lock, by their offset.
    func lock(_ offset: Int64) -> (start: Address, owner: Owner, readers: Int)? {
      guard let readers = value(0 &- offset), let writer = value(24 &- offset) else { return nil }
      let isWriting = readers & 3 == 3
      return (
        place(0 &- offset), Owner(id: isWriting ? writer.nonzero : nil, hasWaiter: isWriting),
        isWriting ? 0 : Int(readers >> 3)
      )
    }
    switch value(0) {
    // The bit of waiters, and the bit of a write phase or of a writer.
    case 3: return lock(reads ? 8 : 12)
    case 2: return reads ? nil : lock(8)
    // Readers hold the lock, and a writer waits and is preferred.
    case let value? where reads && value & 6 == 6 && value >> 3 > 0: return lock(0)
    default: return nil
    }
  }

  /// The queue that a call of `sync` waits for: the first of its chain of targets that another thread
  /// runs.
  ///
  /// Source: swift-corelibs-libdispatch src/queue_internal.h, dispatch_sync_context_s: the event is its
  /// word at 96, after it the waiting thread, at 56 the queue; in the queue its target at 24, its state
  /// at 56, its label at 72.
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
