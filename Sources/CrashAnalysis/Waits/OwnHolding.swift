internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

/// Finds waits for an object that the waiting thread itself holds, and whose memory does not show it.
///
/// A concurrent queue does not record which threads run its blocks, and a read-write lock does not record its readers.
/// But the function that runs a block, or a method that reads, has the address of the queue or the lock in its frame.
struct OwnHolding {
  let memory: MemorySnapshot
  let ownCode: OwnCode

  /// The maximum number of bytes of a frame that are searched.
  private static let frameSize: UInt64 = 1024

  /// True if the thread most likely holds the object that it waits for.
  ///
  /// - Parameter frames: the frames of the waiting thread, innermost first.
  func isLikely(_ wait: Wait, _ frames: [StackFrame]) -> Bool {
    guard wait.knownOwner == nil, !wait.hasLimit, wait.address != 0,
      let own = frames.firstIndex(where: ownCode.contains)
    else { return false }
    let outer = zip(frames[own...], frames[own...].dropFirst())
    switch wait.subject {
    case .queue:
      return outer.contains { frame, caller in
        frame.linkageName?.hasPrefix("_dispatch_") ?? false
          && contains(wait.address, between: frame, caller)
      }
    case .writeLock where wait.readers > 0:
      return outer.contains { frame, caller in
        !frame.isInlined && ownCode.contains(frame) && Self.reads(frame)
          && contains(wait.address, between: frame, caller)
      }
    default: return false
    }
  }

  /// True for a method that, according to its name, reads with a lock, such as `RWLock.read(_:)` and `withReadLock`.
  private static func reads(_ frame: StackFrame) -> Bool {
    guard let function = frame.function else { return false }
    let name = SignatureName(function).text.prefix { $0 != "(" }
    let parts = name.split { $0 == "." || $0 == ":" }
    let method = parts.last?.lowercased() ?? ""
    let type = parts.dropLast().last?.lowercased() ?? ""
    guard method.contains("read") || method == "rdlock" else { return false }
    return method.contains("lock") || type.hasSuffix("lock") || type.hasSuffix("mutex")
  }

  /// True if an address is a word of a call's frame, which ends where the frame of its caller begins.
  private func contains(
    _ address: Address, between frame: StackFrame, _ caller: StackFrame
  ) -> Bool {
    guard let start = frame.stackPointer, let end = caller.stackPointer,
      let size = end.distance(above: start), size <= Self.frameSize
    else { return false }
    return stride(from: UInt64(0), to: size, by: 8).contains {
      memory.word(at: start &+ $0) == address.value
    }
  }
}

/// Finds the threads that refer to a lock, and so may be its readers.
struct LockReferences {
  let snapshot: ProcessSnapshot

  /// The size of a `pthread_rwlock_t`.
  private static let lockSize: UInt64 = 56
  /// The maximum numbers of bytes of each stack, and of threads, that are searched.
  private static let limits = (bytes: 16384, threads: 256)

  /// The threads, except the waiting one, that have an address of the lock in a register or on their stacks; nil if some
  /// stacks are not in the dump, or if there are too many threads.
  func threads(for wait: Wait) -> [UInt32]? {
    let others = snapshot.threads.filter { $0.id != wait.threadID }
    guard others.count <= Self.limits.threads, others.allSatisfy({ !$0.stack.isEmpty }) else {
      return nil
    }
    return others.filter { refers($0, to: wait.address) }.map(\.id)
  }

  private func refers(_ thread: ThreadSnapshot, to lock: Address) -> Bool {
    func isInLock(_ word: UInt64) -> Bool { word &- lock.value < Self.lockSize }
    if thread.context?.generalRegisters.contains(where: { isInLock($0.value) }) ?? false {
      return true
    }
    let start = (thread.context?.stackPointer ?? thread.stackPointer)?.alignedDown(to: 8)
    guard let start else { return false }
    return stride(from: 0, to: Self.limits.bytes, by: 8).lazy
      .map { snapshot.memory.word(at: start &+ UInt64($0)) }.prefix { $0 != nil }
      .contains { $0.map(isInLock) ?? false }
  }
}
