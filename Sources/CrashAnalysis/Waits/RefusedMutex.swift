internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

/// Finds the owners of mutexes with priority inheritance for which the kernel did not let a thread wait.
///
/// FUTEX_LOCK_PI fails with EDEADLK if the owner is the calling thread, or waits for it, directly or through other such
/// mutexes. It fails with ESRCH if the owner has ended. glibc then lets the thread wait forever for a word of its own
/// stack.
///
/// Source: glibc nptl/pthread_mutex_lock.c, "Delay the thread indefinitely"; futex(2).
struct RefusedMutex {
  let snapshot: ProcessSnapshot
  let ids: ThreadIDs

  /// True if a thread in a function that locks a mutex waits for a word of its own stack.
  static func isRefused(_ call: FutexCall, of thread: ThreadSnapshot) -> Bool {
    guard !call.isOwnedWord, !call.hasLimit,
      let start = thread.context?.stackPointer ?? thread.stackPointer,
      let distance = call.word.distance(above: start)
    else { return false }
    return distance < searchedSize
  }

  /// The number of bytes of the stack above the stack pointer that are searched.
  private static let searchedSize: UInt64 = 1024
  private static let kindOffset: UInt64 = 16
  /// The bit in a mutex's kind for priority inheritance.
  ///
  /// Source: glibc nptl/pthreadP.h, PTHREAD_MUTEX_PRIO_INHERIT_NP.
  private static let inherits: UInt32 = 0x20

  /// Sets the mutex and its owner, if a register or the stack of the thread leads to a mutex whose owner waits for the
  /// thread.
  func find(_ wait: inout Wait, among waits: Waits) {
    let id = wait.threadID
    guard let thread = snapshot.threads.first(where: { $0.id == id }) else { return }
    // The waiting function keeps the address of the mutex or of its kind.
    let places = Set(words(of: thread).flatMap { [$0, $0 &- Self.kindOffset] })
    let found = places.compactMap { word -> (place: Address, owner: UInt32)? in
      let words = LockWords(memory: snapshot.memory, word: Address(word))
      guard word & 7 == 0, let kind = words.value(Int64(bitPattern: Self.kindOffset)),
        kind & Self.inherits != 0,
        let owner = words.mutex?.id, owner == words.value(8), let listed = ids.thread(owner),
        listed == id || waits.chain(from: listed).last == id
      else { return nil }
      return (Address(word), listed)
    }
    // The thread may hold other mutexes, whose addresses are on its stack too. If a mutex of another thread is there, it
    // is the refused one.
    let others = found.filter { $0.owner != id }
    let candidates = others.isEmpty ? found : others
    guard let first = candidates.first, candidates.count == 1 else { return }
    (wait.address, wait.owner) = (first.place, first.owner)
    wait.isCertain = found.count == 1 && ids.areCertain
  }

  private func words(of thread: ThreadSnapshot) -> [UInt64] {
    let start = (thread.context?.stackPointer ?? thread.stackPointer)?.alignedDown(to: 8)
    let stack = stride(from: UInt64(0), to: Self.searchedSize, by: 8).compactMap { offset in
      start.flatMap { snapshot.memory.word(at: $0 &+ offset) }
    }
    return (thread.context?.generalRegisters ?? []).map(\.value) + stack
  }
}
