internal import CSignalSafe
internal import Glibc
internal import IntermediateDump

/// A search for all tasks of Swift concurrency in the process's own memory.
///
/// The search runs before the dump is taken, while no thread is stopped. A task that another thread changes during the
/// search may be missing. Not crash code.
///
/// The search reads only private, anonymous, writable ranges, and only pages that the page map marks as present. So
/// reading never waits for a FUSE file system, and loads no pages into memory.
struct OwnTaskSearch {
  /// How much memory a search may read, and how much CPU time it may take.
  struct Limits {
    let bytes: UInt64
    /// The maximum CPU time in nanoseconds.
    let time: UInt64

    /// The limits for a hang's dump; they are high, because only the hang monitors' own thread waits for the search.
    static let hang = Limits(bytes: 256 << 20, time: 200_000_000)
    /// The limits for `dumpWithoutCrash`; they are lower, because one of the program's threads waits for the search.
    static let program = Limits(bytes: 64 << 20, time: 50_000_000)
  }

  /// The maximum number of bytes of the tokens, so that they fit into the writer's buffer together with annotations.
  private static let tokenLimit = 160 << 10
  /// The maximum number of addresses at which a task may be; the tasks at these addresses take less than 20 MiB.
  private static let candidateLimit = 1 << 16

  private let runtime: TaskRuntime
  private let limits: Limits

  /// Creates a search; nil if the process does not use Swift concurrency, or its runtime has an unknown task layout.
  init?(_ facts: pm_task_facts, _ limits: Limits) {
    guard facts.task_metadata != 0, UInt64(facts.layout_version) == TaskRuntime.knownLayout else {
      return nil
    }
    runtime = TaskRuntime(
      metadata: facts.task_metadata, slabMetadata: facts.slab_metadata,
      taskSize: facts.task_size == 0 ? 208 : UInt64(facts.task_size),
      adapters: [facts.future_adapter, facts.other_adapter].filter { $0 != 0 })
    self.limits = limits
  }

  /// Searches for the tasks; nil if the process's mappings or its page map cannot be read.
  func tasks() -> TaskCollection? {
    guard let maps = OwnMaps(), let memory = OwnMemory(maps) else { return nil }
    var found = TaskCollection()
    var candidates: [UInt64] = []
    var dropped: UInt64 = 0
    let start = Self.processorTime
    // Half of the time is for the search; the other half is for reading the tasks that were found.
    let deadline = start + limits.time / 2
    for range in maps.searched {
      unsafe memory.forEachPart(
        of: range, limit: limits.bytes, deadline: deadline, noting: &found
      ) { bytes, start in
        unsafe runtime.forEachCandidate(in: bytes, at: start) { address in
          guard candidates.count < Self.candidateLimit else {
            dropped += runtime.taskSize
            return
          }
          candidates.append(address)
        }
      }
    }
    // Most pages of a large range may not be in memory, so at most the process's resident memory counts as unseen.
    let rest = OwnMaps.residentBytes.clampedSubtracting(found.bytesSeen)
    found.bytesUnseen = min(found.bytesUnseen, rest) + dropped
    let reader = TaskReader(runtime, memory)
    for (index, candidate) in candidates.enumerated() {
      guard Self.processorTime < start + limits.time else {
        found.bytesUnseen += UInt64(candidates.count - index) * runtime.taskSize
        break
      }
      if let task = reader.task(at: candidate) { found.add(task) }
    }
    return found
  }

  /// The tasks as tokens of a dump; empty if there are none.
  ///
  /// Fewer tasks are kept if they do not fit.
  var tokens: [UInt8] {
    guard let found = tasks(), found.count > 0 else { return [] }
    var (groups, records) = (512, 256)
    while groups > 0 {
      let all = AllTasks(found, limit: groups, recordLimit: records)
      let tokens = IntermediateDumpEncoding.encode { $0.bytes(.allTasks, all.bytes) } ?? []
      if tokens.count <= Self.tokenLimit { return tokens }
      (groups, records) = (groups * 3 / 4, max(records / 2, 1))
    }
    return []
  }

  static var processorTime: UInt64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
  }
}

extension Capture {
  /// All tasks of the process as tokens, for a dump of a hang or one that the program requests; empty for others.
  ///
  /// Call this on the handler's `Capture`.
  func tasks(for request: DumpRequest) -> [UInt8] {
    // If memory is short, the search could make the kernel kill the process.
    guard !installed.isSanitized, mayMake(CallBit.files), mayMake(CallBit.memory),
      MemoryRoom(self).threads >= 1024,
      let search = OwnTaskSearch(installed.runtime.tasks, request.isHang ? .hang : .program)
    else { return [] }
    return search.tokens
  }
}
