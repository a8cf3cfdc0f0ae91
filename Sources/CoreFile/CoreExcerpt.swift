internal import IntermediateDump
package import ProcessSnapshot

extension ProcessSnapshot {
  /// The snapshot with only stacks, tasks, and the memory around the fault address and around addresses in registers, as
  /// in a dump of the handler.
  ///
  /// So a report does not become a second core file. The limits for stacks are the defaults of `CaptureLimits`. For each
  /// task, the excerpt keeps the task object and the slabs that hold the frames of the task's functions.
  package var excerpt: ProcessSnapshot {
    var excerpt = self
    let crashed = exception?.threadID
    var kept: [AddressRange] = []
    var stacks = [[AddressRange]](repeating: [], count: threads.count)
    let others = UInt64(max(1, threads.count))
    let share = max(1 << 10, min(32 << 10, (6 << 20) / others))
    for index in excerpt.threads.indices {
      let thread = excerpt.threads[index]
      guard let first = thread.stack.first?.address, let last = thread.stack.last?.range.last else {
        continue
      }
      let limit: UInt64 = thread.id == crashed ? 1 << 20 : share
      let whole = AddressRange(from: first, through: last)
      stacks[index] = whole.map { Self.parts(of: $0, limit: limit) } ?? []
      kept += stacks[index]
    }
    kept += tasks.flatMap(memory(of:)) + crashedMemory
    excerpt.memory = MemorySnapshot(
      joining: RangeSet(kept).ranges.flatMap(memory.regions(in:)).map {
        MemoryRegion(address: $0.address, bytes: $0.bytes)
      })
    for index in excerpt.threads.indices {
      let whole = excerpt.threads[index].stack.reduce(0) { $0 + $1.count }
      excerpt.threads[index].stack = stacks[index].flatMap(excerpt.memory.regions(in:))
      let kept = excerpt.threads[index].stack.reduce(0) { $0 + $1.count }
      excerpt.threads[index].stackBytesOmitted = UInt64(max(0, whole - kept))
    }
    return excerpt
  }

  /// The parts of a large stack to keep: three quarters of the limit from the stack pointer on, and one quarter at
  /// the other end, where the stack began.
  private static func parts(of stack: AddressRange, limit: UInt64) -> [AddressRange] {
    guard stack.byteCount > limit else { return [stack] }
    let bottom = limit / 4
    return [
      AddressRange(start: stack.start, byteCount: limit &- bottom),
      AddressRange(start: stack.start &+ (stack.byteCount &- bottom), byteCount: bottom),
    ]
  }

  /// Memory around the fault address and the current instruction, and memory that the crashing thread's registers
  /// point to.
  private var crashedMemory: [AddressRange] {
    guard let context = exception?.context ?? threads.first?.context else { return [] }
    let places =
      context.generalRegisters.map { Address($0.value) } + [exception?.address].compactMap(\.self)
    return places.map {
      AddressRange(from: $0.clampedSubtracting(128), to: $0.clampedAdding(384))
    }
  }

  /// The memory of a task: the task object, and the slabs that hold its functions' frames.
  private func memory(of task: TaskSnapshot) -> [AddressRange] {
    [AddressRange(start: task.address, byteCount: 512)]
      + task.slabs(in: memory).map {
        AddressRange(start: $0.start, byteCount: min($0.byteCount, 16384 + 32))
      }
  }
}
