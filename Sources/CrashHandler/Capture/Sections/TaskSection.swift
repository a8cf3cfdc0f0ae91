internal import CSignalSafe
internal import IntermediateDump

/// Writes the tasks that threads run, and the memory that their names and calls can be read from.
///
/// Only a task's memory must be found here: its function frames lie in slabs of its own, which are
/// copied whole. The addresses are kept in scratch memory until then.
///
/// RUNS-DURING-CRASH. Source: swift include/swift/ABI/Task.h, class AsyncTask; its thread-local
/// variable in stdlib/public/Concurrency/Task.cpp, class ActiveTask.
@safe
struct TaskSection {
  /// Tasks taken at most.
  private static var limit: Int { @_noLocks get { 256 } }
  /// Bytes of the runtime's thread-local block that are looked at: it has 32, and more only in a
  /// static executable, whose every thread-local variable is in one block.
  private static var blockLimit: Int { @_noLocks get { 4096 } }
  /// Pointers in such blocks that are followed, of all threads together.
  private static var candidateLimit: UInt64 { @_noLocks get { 16384 } }
  /// Offsets in scratch memory: of the addresses, behind two counters, and of a block.
  private static var addressesOffset: Int { @_noLocks get { 16 } }
  private static var blockOffset: Int { @_noLocks get { 8192 } }
  /// Slabs of the first task that are kept, and of each other: a slab is 1 KiB unless a function
  /// needs more.
  private static var slabLimit: Int { @_noLocks get { 64 } }
  private static var otherSlabLimit: Int { @_noLocks get { 8 } }
  private static var slabSizeLimit: UInt64 { @_noLocks get { 16384 } }
  /// Slabs of the first task that are walked, and of each other.
  private static var walkLimit: Int { @_noLocks get { 4096 } }
  private static var otherWalkLimit: Int { @_noLocks get { 64 } }
  /// Bytes of a task itself: its fields, its result and its first function frames.
  private static var taskSize: Int { @_noLocks get { 512 } }

  private let facts: pm_task_facts
  private let memory: SafeMemory
  private let scratch: Scratch
  private let regions: MemoryWriter
  private let output: DumpOutput

  @_noLocks
  init(
    _ facts: pm_task_facts, memory: SafeMemory, scratch: Scratch, regions: MemoryWriter,
    output: DumpOutput
  ) {
    self.facts = facts
    self.memory = memory
    self.scratch = scratch
    self.regions = regions
    self.output = output
    // The number of addresses, and that of the candidates that were followed.
    scratch.setWord(0, 0)
    scratch.setWord(8, 0)
  }

  /// - Parameters:
  ///   - thread: the capturing one; 0 to leave it out.
  ///   - others: of which those that stand still.
  @_noLocks
  func write(capturing thread: Int32, others: ThreadTable) {
    guard facts.task_metadata != 0 else { return }
    output.startArray(.tasks)
    if thread != 0 { add(thread: thread, threadPointer: pm_thread_pointer()) }
    var index = 0
    let count = others.count
    while index < count, self.count < TaskSection.limit {
      let record = others[index]
      if record.status.isStill {
        add(thread: record.threadID, threadPointer: record.fields.threadPointer)
      }
      index &+= 1
    }
    output.end()
    writeMemory()
  }

  private var count: Int {
    @_noLocks get { Int(truncatingIfNeeded: scratch.word(0)) }
  }

  /// Writes the task that a thread runs, if it runs one.
  @_noLocks
  private func add(thread: Int32, threadPointer: UInt64) {
    guard threadPointer != 0, let task = task(at: threadPointer) else { return }
    let index = count
    scratch.setWord(TaskSection.addressesOffset &+ index &* 8, task)
    scratch.setWord(0, UInt64(truncatingIfNeeded: index &+ 1))
    output.startMap(.task)
    output.identifier(.taskThreadID, thread)
    output.unsigned(.taskAddress, task)
    output.unsigned(.taskLayoutVersion, UInt64(facts.layout_version), width: 4)
    output.end()
  }

  /// The first word of the thread's block that points to a task.
  ///
  /// A word that was read and is no pointer to one differs in what it points at: every task begins
  /// with the same address.
  @_noLocks
  private func task(at threadPointer: UInt64) -> UInt64? {
    let block = threadPointer &+ UInt64(bitPattern: facts.block_offset)
    let limit = UInt64(truncatingIfNeeded: TaskSection.blockLimit)
    let size = facts.block_size < limit ? facts.block_size : limit
    let copy = scratch.dropFirst(TaskSection.blockOffset)
    let count = memory.copy(block, to: copy, count: Int(truncatingIfNeeded: size))
    var followed = scratch.word(8)
    var offset = 0
    var found: UInt64?
    while offset &+ 8 <= count, followed < TaskSection.candidateLimit, found == nil {
      let candidate = copy.word(offset)
      offset &+= 8
      guard candidate >= 0x10000, candidate & 15 == 0 else { continue }
      followed &+= 1
      if memory.word(candidate) == facts.task_metadata { found = candidate }
    }
    scratch.setWord(8, followed)
    return found
  }

  @_noLocks
  private func writeMemory() {
    let count = self.count
    output.startArray(.memory)
    var index = 0
    while index < count {
      let task = scratch.word(TaskSection.addressesOffset &+ index &* 8)
      regions.writeRegion(task, count: TaskSection.taskSize)
      if index == 0 {
        writeSlabs(of: task, limit: TaskSection.slabLimit, walkLimit: TaskSection.walkLimit)
      } else {
        writeSlabs(
          of: task, limit: TaskSection.otherSlabLimit, walkLimit: TaskSection.otherWalkLimit)
      }
      index &+= 1
    }
    output.end()
  }

  /// Writes the slabs of the task's function frames; of many the last ones, which hold the
  /// innermost.
  ///
  /// Source: swift stdlib/public/runtime/StackAllocator.h: in a task at 0x70 the last allocation,
  /// then the first slab; in a slab its metadata, the next one, its capacity, and how much of it is
  /// used.
  @_noLocks
  private func writeSlabs(of task: UInt64, limit: Int, walkLimit: Int) {
    guard let first = memory.word(task &+ 0x78) else { return }
    var slab = first
    var total = 0
    while total < walkLimit, let next = next(slab) {
      total &+= 1
      slab = next
    }
    slab = first
    var index = 0
    while index < total, let next = next(slab), let sizes = memory.word(slab &+ 16) {
      let used = sizes &>> 32
      if index >= total &- limit, used > 0 {
        let kept = used < TaskSection.slabSizeLimit ? used : TaskSection.slabSizeLimit
        regions.writeRegion(slab, count: Int(truncatingIfNeeded: kept &+ 32))
      }
      index &+= 1
      slab = next
    }
  }

  /// The slab behind one, 0 behind the last; nil for what is no slab.
  @_noLocks
  private func next(_ slab: UInt64) -> UInt64? {
    guard slab != 0, memory.word(slab) == facts.slab_metadata else { return nil }
    return memory.word(slab &+ 8)
  }
}
