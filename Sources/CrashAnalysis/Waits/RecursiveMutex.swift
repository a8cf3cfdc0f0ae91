internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

/// Finds the waits for a Swift `Mutex` that the kernel refused.
///
/// The kernel refuses a wait with EDEADLK, because the wait would complete a cycle of waits. The runtime then ends the
/// process. If two threads complete the same cycle at the same moment, the kernel may refuse both waits.
struct RecursiveMutex {
  private static let message = "Recursive call to lock Mutex"
  private static let function = "$s15Synchronization12_MutexHandleV9_lockSlow"
  private static let failure = "$ss17_assertionFailure"

  private let snapshot: ProcessSnapshot
  private let crashed: (thread: ThreadSnapshot, frames: [StackFrame])?
  private let others: [(thread: ThreadSnapshot, frames: [StackFrame])]

  /// - Parameter threads: the threads, each with its frames, innermost first.
  init(
    _ snapshot: ProcessSnapshot, _ threads: [(thread: ThreadSnapshot, frames: [StackFrame])]
  ) {
    self.snapshot = snapshot
    let isCause =
      snapshot.request == nil
      && snapshot.exception?.fatalMessage?.contains(Self.message) == true
    let id = snapshot.exception?.threadID
    crashed =
      isCause
      ? threads.first { $0.thread.id == id && Self.call(in: $0.frames) != nil } : nil
    others =
      crashed == nil
      ? []
      : threads.filter { thread, frames in
        guard thread.id != id, let call = Self.call(in: frames) else { return false }
        return frames[..<call].contains { $0.linkageName?.hasPrefix(Self.failure) ?? false }
      }
  }

  /// The index of the call that was refused.
  private static func call(in frames: [StackFrame]) -> Int? {
    frames.prefix(16).firstIndex { $0.linkageName?.hasPrefix(function) ?? false }
  }

  /// The refused waits, each with the frames of its thread, that of the crashed thread first.
  ///
  /// The caller sets `Wait.place`. A wait is left out if the dump does not show which thread holds the lock.
  ///
  /// - Parameter waits: the waits that the kernel did not refuse.
  func refused(among waits: [Wait]) -> [(wait: Wait, frames: [StackFrame])] {
    guard let crashed else { return [] }
    let waiting = Set(waits.map(\.threadID) + others.map(\.thread.id) + [crashed.thread.id])
    let also = others.compactMap { thread, frames in
      wait(of: thread, frames, heldBy: waiting.subtracting([thread.id])).map { ($0, frames) }
    }
    let all = Waits(waits + also.map(\.0))
    let holders = waiting.filter { all.chain(from: $0).last == crashed.thread.id }
    let own = wait(of: crashed.thread, crashed.frames, heldBy: holders)
    return (own.map { [($0, crashed.frames)] } ?? []) + also
  }

  /// - Parameter holders: the threads that can hold the lock.
  ///
  /// The address of the lock is in the register of `self`, which `_lockSlow` does not change. If later code has reused
  /// that register, the address may be in another register or on the stack near the call. Addresses of other locks that
  /// the thread holds may be there too.
  private func wait(
    of thread: ThreadSnapshot, _ frames: [StackFrame], heldBy holders: Set<UInt32>
  ) -> Wait? {
    guard let call = Self.call(in: frames) else { return nil }
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
