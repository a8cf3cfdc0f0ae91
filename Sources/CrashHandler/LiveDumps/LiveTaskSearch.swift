internal import CSignalSafe
internal import IntermediateDump
internal import SwiftRuntime

/// A search for all tasks of Swift concurrency in the memory of this process, before a dump is taken.
///
/// Not crash code.
struct LiveTaskSearch {
  /// The limits for a hang's dump; they are high, because only the hang monitors' own thread waits for the search.
  static let hang = TaskSearchLimits(
    bytes: 256 << 20, time: 200_000_000, .processor, candidates: candidateLimit)
  /// The limits for `dumpWithoutCrash`; they are lower, because one of the program's threads waits for the search.
  static let program = TaskSearchLimits(
    bytes: 64 << 20, time: 50_000_000, .processor, candidates: candidateLimit)
  /// The objects of that many tasks take less than 20 MiB, so a search can reach this limit before that of bytes.
  private static let candidateLimit = 1 << 16

  /// The maximum size in bytes of the tokens that describe the found tasks, so that they fit into the buffer of the
  /// dump's writer together with the annotations.
  private static let tokenLimit = 160 << 10

  private let runtime: TaskRuntime
  private let limits: TaskSearchLimits

  /// Creates a search; nil if the process does not use Swift concurrency, or its runtime has an unknown task layout.
  init?(_ facts: pm_task_facts, _ limits: TaskSearchLimits) {
    guard facts.task_metadata != 0, facts.layout_version == TaskLayout.version else {
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
  }

  /// Searches for the tasks; nil if the process's memory cannot be read (`LiveMemory`).
  func tasks() -> TaskCollection? {
    LiveMemory(of: 0).map { TaskSearch(runtime, in: $0, limits).tasks() }
  }

  /// The tasks as tokens of a dump; empty if none was found, or if the search is not possible.
  ///
  /// If the tokens would exceed `tokenLimit`, some groups and records of tasks are left out.
  var tokens: [UInt8] {
    guard let found = tasks(), found.count > 0 else { return [] }
    var (groups, records) = (512, 256)
    while groups > 0 {
      let all = found.grouped(limit: groups, recordLimit: records)
      let tokens = IntermediateDumpEncoding.encode { $0.bytes(.allTasks, all.bytes) } ?? []
      if tokens.count <= Self.tokenLimit { return tokens }
      (groups, records) = (groups * 3 / 4, max(records / 2, 1))
    }
    return []
  }
}

extension Capture {
  /// All tasks of the process as tokens, for the dump of a hang or a dump that the program requests; the version of
  /// the task layout if it is not known; empty if dumps leave out secrets, if memory is short, or if the search is not
  /// possible.
  ///
  /// Call this on the handler's `Capture`.
  func tasks(for request: DumpRequest) -> [UInt8] {
    let facts = installed.runtime.tasks
    if facts.task_metadata != 0, facts.layout_version != TaskLayout.version {
      return IntermediateDumpEncoding.encode {
        $0.unsigned(.taskLayoutVersion, UInt64(facts.layout_version), width: 4)
      } ?? []
    }
    // If memory is short, the search could make the kernel kill the process.
    guard !installed.isSanitized, mayMake(CallBit.files), mayMake(CallBit.memory),
      MemoryRoom(self).threads >= 1024,
      let search = LiveTaskSearch(
        facts, request.isHang ? LiveTaskSearch.hang : LiveTaskSearch.program)
    else { return [] }
    return search.tokens
  }
}
