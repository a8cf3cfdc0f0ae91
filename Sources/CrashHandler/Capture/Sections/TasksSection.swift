internal import CSignalSafe
internal import IntermediateDump

/// RUNS-DURING-CRASH.
@c(pm_write_tasks) @_noLocks
func pm_write_tasks(_ argument: UnsafeMutableRawPointer) {
  var tasks = unsafe TaskWriter(Capture(argument))
  tasks.write()
}

/// Writes the tasks that threads run, and the memory from which the tasks' names and frames can be read.
///
/// This section copies the task objects, and the slabs that hold the frames of the tasks' async functions. It does not
/// look for frames in the slabs; the converter does. Scratch memory holds the addresses of the tasks that were found.
///
/// RUNS-DURING-CRASH. Source: swift include/swift/ABI/Task.h, class AsyncTask.
@safe
private struct TaskWriter {
  /// The maximum number of tasks that are written.
  private static var limit: Int { 256 }
  /// The offset, in scratch memory, of the tasks' addresses; in the word before them, `TaskFinder` counts the pointers
  /// that it has followed.
  private static var addressesOffset: Int { 16 }
  /// The maximum number of slabs that are written for the first task and for each other task, and the maximum number
  /// of bytes of one slab.
  ///
  /// A slab, in which the runtime allocates the frames of async functions, has 1 KiB unless a function needs more.
  private static var slabLimit: Int { 64 }
  private static var otherSlabLimit: Int { 8 }
  private static var slabSizeLimit: UInt64 { 16384 }
  /// The maximum number of slabs that are visited for the first task (the crashing thread's, if it runs one);
  /// `otherWalkLimit` is the maximum for all other tasks together.
  ///
  /// For each of the other tasks, `leastWalkLimit` slabs may be visited even if the total is used up.
  private static var walkLimit: Int { 4096 }
  private static var otherWalkLimit: Int { 4096 }
  private static var leastWalkLimit: Int { 64 }
  /// The number of bytes that are written from the start of each task object: its fields, its result and its first
  /// function frames.
  private static var taskSize: Int { 512 }

  private let finder: TaskFinder
  private let regions: MemoryWriter
  private let capture: Capture
  /// The number of tasks that were found.
  private var count = 0

  fileprivate init(_ capture: Capture) {
    self.capture = capture
    regions = capture.cachedRegions
    finder = TaskFinder(capture)
  }

  fileprivate mutating func write() {
    let others = capture.session.threads
    guard finder.facts.task_metadata != 0 else { return }
    capture.writer.startArray(.tasks)
    if capture.capturesItself {
      add(thread: capture.session.exception.threadID, threadPointer: pm_thread_pointer())
    }
    var read = 0
    for index in Indices(others.count) where count < TaskWriter.limit {
      if index >= read { read = finder.readBlocks(of: others, from: index) }
      let record = others[index]
      if record.status.isStill {
        add(thread: record.threadID, threadPointer: record.fields.threadPointer)
      }
    }
    capture.writer.end()
    writeMemory()
  }

  /// Writes the task that a thread runs, if it runs one.
  private mutating func add(thread: Int32, threadPointer: UInt64) {
    guard let task = finder.task(at: threadPointer) else { return }
    finder.scratch.setWord(TaskWriter.addressesOffset &+ count &* 8, task)
    count &+= 1
    capture.writer.startMap(.task)
    capture.writer.identifier(.taskThreadID, thread)
    capture.writer.unsigned(.taskAddress, task)
    capture.writer.unsigned(.taskLayoutVersion, UInt64(finder.facts.layout_version), width: 4)
    capture.writer.end()
  }

  private func writeMemory() {
    capture.writer.startArray(.memory)
    var walks = TaskWriter.otherWalkLimit
    for index in Indices(count) {
      let task = finder.scratch.word(TaskWriter.addressesOffset &+ index &* 8)
      regions.writeRegion(task, count: TaskWriter.taskSize)
      if index == 0 {
        _ = writeSlabs(of: task, limit: TaskWriter.slabLimit, walkLimit: TaskWriter.walkLimit)
      } else {
        if walks < TaskWriter.leastWalkLimit { walks = TaskWriter.leastWalkLimit }
        walks &-= writeSlabs(of: task, limit: TaskWriter.otherSlabLimit, walkLimit: walks)
      }
    }
    capture.writer.end()
  }

  /// Writes the slabs that hold the frames of the task's async functions.
  ///
  /// If there are more than `limit` slabs, only the last ones are written, which contain the innermost frames. Slabs
  /// after the first `walkLimit` are not visited, and unused slabs are not written.
  ///
  /// - Returns: the number of slabs that were visited.
  private func writeSlabs(of task: UInt64, limit: Int, walkLimit: Int) -> Int {
    guard let first = finder.memory.word(task &+ TaskLayout.firstSlab) else { return 0 }
    var slab = first
    var total = 0
    while total < walkLimit, let next = next(slab) {
      total &+= 1
      slab = next
    }
    slab = first
    var index = 0
    while index < total, let next = next(slab), let sizes = finder.memory.word(slab &+ 16) {
      let used = sizes &>> 32
      if index >= total &- limit, used > 0 {
        let kept = used < TaskWriter.slabSizeLimit ? used : TaskWriter.slabSizeLimit
        regions.writeRegion(slab, count: Int(truncatingIfNeeded: kept &+ 32))
      }
      index &+= 1
      slab = next
    }
    return total
  }

  /// Returns the address of the next slab; 0 after the last slab; nil if the memory is not a slab.
  private func next(_ slab: UInt64) -> UInt64? {
    guard slab != 0, finder.memory.word(slab) == finder.facts.slab_metadata else { return nil }
    return finder.memory.word(slab &+ 8)
  }
}
