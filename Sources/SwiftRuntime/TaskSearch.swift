internal import Glibc
internal import IntermediateDump

/// Memory that may contain tasks of Swift concurrency.
package protocol TaskMemory {
  /// The word at an address; nil if it cannot be read.
  func word(at address: UInt64) -> UInt64?
  /// True if an address is in an executable mapping.
  func isCode(_ address: UInt64) -> Bool
}

/// The memory of a process, in which a search looks for tasks.
package protocol SearchedMemory: TaskMemory {
  associatedtype Region

  /// The memory in which tasks may be: writable private memory that is neither a file nor a stack.
  ///
  /// The smallest regions come first, because the number of bytes that are read is limited, and most heap regions are
  /// small. A very large region is often one large table or buffer of the program.
  var searched: [Region] { get }
  /// The maximum number of bytes that can be read in all regions together.
  var readableBytes: UInt64 { get }

  /// Calls `body` with each readable part of a region, and with the address of the part's first byte.
  ///
  /// - Parameter mayRead: called again and again; if it returns false, the rest of the region is not read.
  /// - Returns: the number of bytes that were not read.
  func forEachPart(
    of region: Region, while mayRead: () -> Bool,
    _ body: (UnsafeRawBufferPointer, UInt64) -> Void
  ) -> UInt64

  /// Makes later calls of `word(at:)` read the memory again.
  func forgetPages()
}

/// How much memory and time a search for tasks may take.
package struct TaskSearchLimits: Sendable {
  package enum Clock: Sendable {
    /// The CPU time of the calling thread.
    case processor
    /// The time that passes, also while the thread waits for a disk.
    case elapsed

    fileprivate var nanoseconds: UInt64 {
      var time = timespec()
      unsafe clock_gettime(self == .processor ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time)
      return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
    }
  }

  let bytes: UInt64
  /// The maximum time in nanoseconds, measured by `clock`.
  let time: UInt64
  let clock: Clock
  /// The maximum number of addresses that are examined as possible task objects.
  let candidates: Int

  package init(bytes: UInt64, time: UInt64, _ clock: Clock, candidates: Int) {
    (self.bytes, self.time, self.clock, self.candidates) = (bytes, time, clock, candidates)
  }
}

/// A search for all tasks of Swift concurrency in the memory of a process, including tasks that no thread runs.
///
/// The runtime has no list of its tasks, but each task object begins with the same word, the address of the task
/// class's metadata. An object counts as a task only if its fields are consistent (`TaskReader`). Not crash code.
package struct TaskSearch<Memory: SearchedMemory> {
  private let runtime: TaskRuntime
  private let memory: Memory
  private let limits: TaskSearchLimits

  package init(_ runtime: TaskRuntime, in memory: Memory, _ limits: TaskSearchLimits) {
    (self.runtime, self.memory, self.limits) = (runtime, memory, limits)
  }

  package func tasks() -> TaskCollection {
    var found = TaskCollection()
    let start = limits.clock.nanoseconds
    // Half of the time is for finding addresses of possible tasks; the other half is for reading the tasks there.
    let candidates = candidates(until: start &+ limits.time / 2, noting: &found)
    let reader = TaskReader(runtime, memory)
    for (index, candidate) in candidates.enumerated() {
      guard limits.clock.nanoseconds < start &+ limits.time else {
        found.bytesUnseen += UInt64(candidates.count - index) * runtime.taskSize
        break
      }
      if let task = reader.task(at: candidate) { found.add(task) }
    }
    memory.forgetPages()
    found.confirmCycles(reader.task)
    return found
  }

  /// The addresses of words that are equal to the first word of a task object.
  private func candidates(until deadline: UInt64, noting found: inout TaskCollection) -> [UInt64] {
    var candidates: [UInt64] = []
    var (seen, unseen, dropped): (UInt64, UInt64, UInt64) = (0, 0, 0)
    func mayRead() -> Bool { seen < limits.bytes && limits.clock.nanoseconds < deadline }
    for region in memory.searched {
      let rest = unsafe memory.forEachPart(of: region, while: mayRead) { bytes, start in
        seen += UInt64(bytes.count)
        unsafe runtime.forEachCandidate(in: bytes, at: start) { address in
          if candidates.count < limits.candidates {
            candidates.append(address)
          } else {
            dropped += runtime.taskSize
          }
        }
      }
      unseen = unseen.clampedAdding(rest)
    }
    // Most pages of a large region of a running process may not be in memory. So the number of unseen bytes is limited
    // to the readable memory that was not read.
    found.bytesSeen = seen
    found.bytesUnseen = min(unseen, memory.readableBytes.clampedSubtracting(seen)) + dropped
    return candidates
  }
}
