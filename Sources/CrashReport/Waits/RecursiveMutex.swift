internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

/// Finds the wait that Swift's `Mutex` refused.
///
/// The kernel found that the wait would close a circle (EDEADLK), so the runtime ended the process.
struct RecursiveMutex {
  private static let message = "Recursive call to lock Mutex"
  private static let function = "$s15Synchronization12_MutexHandleV9_lockSlow"

  let snapshot: ProcessSnapshot
  /// The waits of the other threads.
  let waits: Waits

  /// The wait of the crashed thread, with `place` not set; nil for another crash, or if the dump does not contain the
  /// lock.
  ///
  /// The address of the lock is in a register, or on the stack near the call.
  func wait(of thread: ThreadSnapshot, _ frames: [StackFrame]) -> Wait? {
    guard snapshot.request == nil, thread.id == snapshot.exception?.threadID,
      snapshot.exception?.fatalMessage?.contains(Self.message) == true,
      let call = frames.prefix(16).firstIndex(where: {
        $0.linkageName?.hasPrefix(Self.function) ?? false
      })
    else { return nil }
    let holders = Set(waits.all.map(\.threadID)).filter { id in
      waits.chain(from: id).last == thread.id
    }.union([thread.id])
    let registers = thread.context?.generalRegisters.map { Address($0.value) } ?? []
    let found = (registers + words(of: thread, to: frames[call...])).compactMap { place in
      owner(at: place).flatMap { holders.contains($0) ? (place: place, owner: $0) : nil }
    }
    // If several words look like locks with different owners, the result is nil, because any of them may be the lock.
    guard let first = found.first, found.allSatisfy({ $0.owner == first.owner }) else { return nil }
    var wait = Wait(threadID: thread.id, .swiftMutex, at: first.place)
    wait.owner = first.owner
    // The circle is certain, because the kernel found it. The lock is certain only if no other word looks like a
    // lock.
    wait.isCertain = found.allSatisfy { $0.place == first.place }
    return wait
  }

  /// The words of the stack from the stack pointer to slightly beyond the frame that called `_lockSlow`.
  private func words(of thread: ThreadSnapshot, to frames: ArraySlice<StackFrame>) -> [Address] {
    guard let start = thread.stackPointer,
      let end = frames.dropFirst().lazy.compactMap(\.stackPointer).first,
      let size = end.distance(above: start), size < 1 << 16
    else { return [] }
    return stride(from: 0, to: size &+ 256, by: 8).compactMap { offset in
      snapshot.memory.word(at: Address(start.value &+ offset)).map { Address($0) }
    }
  }

  private func owner(at place: Address) -> UInt32? {
    guard place.value & 3 == 0 else { return nil }
    return LockWords(memory: snapshot.memory, word: place).ownedWord?.id
  }
}
