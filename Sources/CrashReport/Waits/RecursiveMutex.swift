internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

/// Finds the crashed thread's wait for a Swift `Mutex` if the kernel refused this wait.
///
/// The kernel refused the wait with EDEADLK, because the wait would have completed a cycle of waits. The runtime then
/// ended the process.
struct RecursiveMutex {
  private static let message = "Recursive call to lock Mutex"
  private static let function = "$s15Synchronization12_MutexHandleV9_lockSlow"

  let snapshot: ProcessSnapshot
  /// The waits of the other threads.
  let waits: Waits

  /// The wait of the crashed thread, without `Wait.place`, which the caller sets; nil for a crash with another cause,
  /// or if the dump does not show which thread holds the lock.
  ///
  /// The address of the lock is in the register of `self`, which `_lockSlow` does not change. If later code has reused
  /// that register, the address may be in another register or on the stack near the call. Addresses of other locks that
  /// the thread holds may be there too.
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
    func locks(_ places: [Address]) -> [(place: Address, owner: UInt32)] {
      places.compactMap { place in
        owner(at: place).flatMap { holders.contains($0) ? (place, $0) : nil }
      }
    }
    let registers = thread.context?.generalRegisters ?? []
    var found = locks(
      registers.filter { $0.name == Self.selfRegister(thread) }.map { Address($0.value) })
    if found.isEmpty {
      found = locks(
        registers.map { Address($0.value) } + words(of: thread, to: frames[call...]))
    }
    // If several words look like locks with different owners, the result is nil, because any of them may be the lock.
    guard let first = found.first, found.allSatisfy({ $0.owner == first.owner }) else { return nil }
    var wait = Wait(threadID: thread.id, .swiftMutex, at: first.place)
    wait.owner = first.owner
    // The cycle is certain, because the kernel found it. The lock is certain only if no other word looks like a lock.
    wait.isCertain = found.allSatisfy { $0.place == first.place }
    return wait
  }

  /// The register in which a method gets `self`, or the address of `self` if the value is passed by address.
  ///
  /// Source: Swift docs/ABI/RegisterUsage.md.
  private static func selfRegister(_ thread: ThreadSnapshot) -> String {
    if case .arm64 = thread.context { "x20" } else { "r13" }
  }

  /// The words of the stack, from the thread's stack pointer to 256 bytes above the stack pointer of the function that
  /// called `_lockSlow`.
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
