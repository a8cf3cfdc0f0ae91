internal import CSignalSafe
internal import Glibc
package import IntermediateDump

/// A search for all tasks of Swift concurrency in the memory of a running process.
///
/// If a process searches its own memory, the search runs before the dump is taken. `postmortem capture` searches
/// another process, directly after that process has written its dump. No thread is stopped during a search, so a task
/// that a thread changes at that moment may be missing. Not crash code.
///
/// The search looks for tasks only in private, anonymous, writable ranges, and reads only pages that the page map marks
/// as present. So reading never waits for a FUSE file system, and loads no pages into memory.
package struct LiveTaskSearch {
  /// How much memory and CPU time a search may take.
  struct Limits {
    let bytes: UInt64
    /// The maximum CPU time in nanoseconds.
    let time: UInt64

    /// The limits for a hang's dump; they are high, because only the hang monitors' own thread waits for the search.
    static let hang = Limits(bytes: 256 << 20, time: 200_000_000)
    /// The limits for `postmortem capture`, for which only the command waits.
    static let tool = Limits(bytes: 1 << 30, time: 2_000_000_000)
    /// The limits for `dumpWithoutCrash`; they are lower, because one of the program's threads waits for the search.
    static let program = Limits(bytes: 64 << 20, time: 50_000_000)
  }

  /// The maximum size in bytes of the tokens that describe the found tasks, so that they fit into the buffer of the
  /// dump's writer together with the annotations.
  private static let tokenLimit = 160 << 10
  /// The maximum number of addresses that the search examines as possible tasks.
  ///
  /// The objects of that many tasks take less than 20 MiB, so a search can reach this limit before `Limits.bytes`.
  private static let candidateLimit = 1 << 16

  private let runtime: TaskRuntime
  private let limits: Limits
  /// The ID of the process whose memory is searched; 0 for the calling process.
  private let process: Int32

  /// Creates a search; nil if the process does not use Swift concurrency, or its runtime has an unknown task layout.
  init?(_ facts: pm_task_facts, _ limits: Limits) {
    guard facts.task_metadata != 0, UInt64(facts.layout_version) == TaskRuntime.knownLayout else {
      return nil
    }
    var runtime = TaskRuntime(
      metadata: facts.task_metadata, slabMetadata: facts.slab_metadata,
      taskSize: facts.task_size == 0 ? 208 : UInt64(facts.task_size),
      adapters: [facts.future_adapter, facts.other_adapter].filter { $0 != 0 })
    let places = pm_work_places()
    runtime.contexts = TaskRuntime.ContextPlace(
      key: places.key, type: places.type, head: UInt64(bitPattern: places.task_head))
    self.runtime = runtime
    self.limits = limits
    process = 0
  }

  /// Returns a word of a process's memory, even if its page is not in memory; nil if the kernel refuses to read it.
  package static func word(at address: UInt64, of process: Int32) -> UInt64? {
    var word: UInt64 = 0
    guard let from = unsafe UnsafeRawPointer(bitPattern: UInt(truncatingIfNeeded: address)),
      unsafe pm_copy_memory(process, &word, from, 8) == 8
    else { return nil }
    return word
  }

  /// Creates a search in another process, with the limits for `postmortem capture`.
  package init(of process: Int32, _ runtime: TaskRuntime) {
    (self.process, self.runtime, limits) = (process, runtime, .tool)
  }

  /// Searches for the tasks; nil if the process's mappings or its page map cannot be read, if pages do not have 4 KiB,
  /// or if no memory is left.
  package func tasks() -> TaskCollection? {
    guard let maps = LiveMaps(of: process), let memory = LiveMemory(maps, of: process) else {
      return nil
    }
    var found = TaskCollection()
    var candidates: [UInt64] = []
    var dropped: UInt64 = 0
    let start = Self.processorTime
    // Half of the CPU time is for finding addresses of possible tasks; the other half is for reading the tasks there.
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
    // Most pages of a large range may not be in memory. So the number of unseen bytes is limited to the resident memory
    // that was not read.
    let rest = maps.residentBytes.clampedSubtracting(found.bytesSeen)
    found.bytesUnseen = min(found.bytesUnseen, rest) + dropped
    let reader = TaskReader(runtime, memory)
    for (index, candidate) in candidates.enumerated() {
      guard Self.processorTime < start + limits.time else {
        found.bytesUnseen += UInt64(candidates.count - index) * runtime.taskSize
        break
      }
      if let task = reader.task(at: candidate) { found.add(task) }
    }
    memory.forgetPages()
    found.confirmCycles(reader.task)
    return found
  }

  /// The tasks as tokens of a dump; empty if none was found, or if the search is not possible.
  ///
  /// If the tokens would exceed `tokenLimit`, some groups and records of tasks are left out.
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
  /// All tasks of the process as tokens, for the dump of a hang or a dump that the program requests; empty if dumps
  /// leave out secrets, if memory is short, or if the search is not possible.
  ///
  /// Call this on the handler's `Capture`.
  func tasks(for request: DumpRequest) -> [UInt8] {
    // If memory is short, the search could make the kernel kill the process.
    guard !installed.isSanitized, mayMake(CallBit.files), mayMake(CallBit.memory),
      MemoryRoom(self).threads >= 1024,
      let search = LiveTaskSearch(installed.runtime.tasks, request.isHang ? .hang : .program)
    else { return [] }
    return search.tokens
  }
}
