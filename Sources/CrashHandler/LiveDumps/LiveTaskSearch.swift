internal import CSignalSafe
internal import Glibc
package import IntermediateDump

/// A search for all tasks of Swift concurrency in the memory of a running process.
///
/// In its own process, the search runs before the dump is taken; `postmortem capture` searches the process directly
/// after its dump. No thread is stopped. Tasks change meanwhile, so a task that is
/// being changed while it is read may be missing. Not crash code.
///
/// Only pages that the page map calls present are read, through the kernel, and only of ranges that are private,
/// anonymous and writable. So no FUSE file system is asked, and nothing is brought into memory.
package struct LiveTaskSearch {
  /// How much memory and CPU time a search may take.
  struct Limits {
    let bytes: UInt64
    /// In nanoseconds.
    let time: UInt64

    /// The monitor's thread has time.
    static let hang = Limits(bytes: 256 << 20, time: 200_000_000)
    /// A command waits.
    static let tool = Limits(bytes: 1 << 30, time: 2_000_000_000)
    /// The program's thread waits for the dump.
    static let program = Limits(bytes: 64 << 20, time: 50_000_000)
  }

  /// The maximum number of bytes of the tokens, so that they fit into the writer's buffer together with annotations.
  private static let tokenLimit = 160 << 10
  /// The maximum number of places where a task may be; together, such tasks take less than 20 MiB of memory.
  private static let candidateLimit = 1 << 16

  private let runtime: TaskRuntime
  private let limits: Limits
  /// The process's ID; 0 for this process.
  private let process: Int32

  /// Nil if the process does not use Swift concurrency, or its runtime has another memory layout.
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

  /// A word of a process's memory, also of a page that is not in memory; nil if the kernel refuses to show it.
  package static func word(at address: UInt64, of process: Int32) -> UInt64? {
    var word: UInt64 = 0
    guard let from = unsafe UnsafeRawPointer(bitPattern: UInt(truncatingIfNeeded: address)),
      unsafe pm_copy_memory(process, &word, from, 8) == 8
    else { return nil }
    return word
  }

  /// A search in another process, for a tool that has time.
  package init(of process: Int32, _ runtime: TaskRuntime) {
    (self.process, self.runtime, limits) = (process, runtime, .tool)
  }

  /// The tasks that were found; nil if the kernel refuses to show the process's memory.
  package func tasks() -> TaskCollection? {
    guard let maps = LiveMaps(of: process), let memory = LiveMemory(maps, of: process) else {
      return nil
    }
    var found = TaskCollection()
    var candidates: [UInt64] = []
    var dropped: UInt64 = 0
    let start = Self.processorTime
    // The rest of the time is for the tasks that are found.
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
    // A range can be much larger than its part in memory.
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
    found.confirmCircles(reader.task)
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
      let search = LiveTaskSearch(installed.runtime.tasks, request.isHang ? .hang : .program)
    else { return [] }
    return search.tokens
  }
}
