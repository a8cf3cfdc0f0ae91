internal import CSignalSafe
internal import IntermediateDump

/// The tasks that threads ran, and the memory that their names and calls can be read from.
///
/// Nothing of a task but where its memory is must be known here: a task's function frames lie in
/// slabs of its own, which are copied whole.
///
/// RUNS-DURING-CRASH. Source: swift include/swift/ABI/Task.h, class AsyncTask; its thread-local
/// variable in stdlib/public/Concurrency/Task.cpp, class ActiveTask.
@c(pm_write_tasks) @_noLocks
func pm_write_tasks(_ argument: UnsafeMutableRawPointer) {
  let state = unsafe argument.assumingMemoryBound(to: HandlerState.self)
  let tasks = unsafe TaskWriter(state)
  guard tasks.areThere else { return }
  unsafe state.pointee.writer.startArray(.tasks)
  // The capturing thread is the one in question, unless it captures another one's hang.
  if unsafe state.pointee.request.kind != .hang {
    tasks.add(thread: unsafe state.pointee.threadID, threadPointer: pm_thread_pointer())
  }
  var index = 0
  let count = unsafe state.pointee.threads.count
  while index < count, tasks.count < TaskWriter.limit {
    let record = unsafe state.pointee.threads[index]
    if record.status == .stopped || record.status == .alsoCrashed {
      tasks.add(thread: record.threadID, threadPointer: record.threadPointer)
    }
    index &+= 1
  }
  unsafe state.pointee.writer.end()
  tasks.writeMemory()
}

/// Finds tasks, and keeps their addresses in scratch memory until their memory is written.
///
/// RUNS-DURING-CRASH.
@safe
private struct TaskWriter {
  /// Tasks taken at most.
  static var limit: Int { @_noLocks get { 256 } }
  /// Words of the runtime's thread-local block that are looked at; more only in a static
  /// executable, whose every thread-local variable is in one block.
  private static var wordLimit: Int { @_noLocks get { 512 } }
  /// Slabs of the first task that are kept, and of each other: a slab is 1 KiB unless a function
  /// needs more.
  private static var slabLimit: Int { @_noLocks get { 64 } }
  private static var otherSlabLimit: Int { @_noLocks get { 8 } }
  private static var slabSizeLimit: UInt64 { @_noLocks get { 16384 } }
  /// Slabs of one task that are walked.
  private static var walkLimit: Int { @_noLocks get { 4096 } }
  /// Bytes of a task itself: its fields, its result and its first function frames.
  private static var taskSize: Int { @_noLocks get { 512 } }

  private let state: UnsafeMutablePointer<HandlerState>
  private let memory: SafeMemory
  private let addresses: UnsafeMutableRawPointer
  private let facts: pm_task_facts

  @_noLocks
  init(_ state: UnsafeMutablePointer<HandlerState>) {
    unsafe self.state = state
    memory = unsafe state.pointee.memory
    // The first word is their count.
    unsafe addresses = state.pointee.scratch
    facts = unsafe state.pointee.taskFacts
    unsafe addresses.storeBytes(of: 0, as: UInt64.self)
  }

  var areThere: Bool { @_noLocks get { facts.task_metadata != 0 } }

  var count: Int {
    @_noLocks get { Int(truncatingIfNeeded: unsafe addresses.loadUnaligned(as: UInt64.self)) }
  }

  /// Writes the task that a thread runs, if it runs one.
  @_noLocks
  func add(thread: Int32, threadPointer: UInt64) {
    guard threadPointer != 0, let task = task(at: threadPointer) else { return }
    let index = count
    unsafe addresses.storeBytes(of: task, toByteOffset: (index &+ 1) &* 8, as: UInt64.self)
    unsafe addresses.storeBytes(of: UInt64(truncatingIfNeeded: index &+ 1), as: UInt64.self)
    unsafe state.pointee.writer.startMap(.task)
    unsafe state.pointee.writer.unsigned(
      .taskThreadID, UInt64(UInt32(bitPattern: thread)), width: 4)
    unsafe state.pointee.writer.unsigned(.taskAddress, task)
    unsafe state.pointee.writer.unsigned(
      .taskLayoutVersion, UInt64(facts.layout_version), width: 4)
    unsafe state.pointee.writer.end()
  }

  /// The first word of the thread's block that points to a task.
  ///
  /// A word that was read and is no pointer to one differs in what it points at: every task begins
  /// with the same address.
  @_noLocks
  private func task(at threadPointer: UInt64) -> UInt64? {
    let block = threadPointer &+ UInt64(bitPattern: facts.block_offset)
    let words = Int(truncatingIfNeeded: facts.block_size / 8)
    var index = 0
    while index < words, index < TaskWriter.wordLimit {
      let place = block &+ UInt64(truncatingIfNeeded: index &* 8)
      index &+= 1
      guard let candidate = memory.word(place) else { return nil }
      if candidate >= 0x10000, candidate & 15 == 0, memory.word(candidate) == facts.task_metadata {
        return candidate
      }
    }
    return nil
  }

  @_noLocks
  func writeMemory() {
    let count = self.count
    unsafe state.pointee.writer.startArray(.memory)
    var index = 0
    while index < count {
      index &+= 1
      let task = unsafe addresses.loadUnaligned(fromByteOffset: index &* 8, as: UInt64.self)
      unsafe ThreadWriter(state).writeRegion(task, count: TaskWriter.taskSize)
      writeSlabs(
        of: task, limit: index == 1 ? TaskWriter.slabLimit : TaskWriter.otherSlabLimit)
    }
    unsafe state.pointee.writer.end()
  }

  /// The slabs that the task's function frames lie in; of many the last ones, which hold the
  /// innermost.
  ///
  /// Source: swift stdlib/public/runtime/StackAllocator.h: in a task at 0x70 the last allocation,
  /// then the first slab; in a slab its metadata, the next one, its capacity, and how much of it is
  /// used.
  @_noLocks
  private func writeSlabs(of task: UInt64, limit: Int) {
    guard let first = memory.word(task &+ 0x78) else { return }
    var slab = first
    var total = 0
    while total < TaskWriter.walkLimit, let next = next(slab) {
      total &+= 1
      slab = next
    }
    slab = first
    var index = 0
    while index < total, let next = next(slab), let sizes = memory.word(slab &+ 16) {
      let used = sizes &>> 32
      if index >= total &- limit, used > 0 {
        let kept = used < TaskWriter.slabSizeLimit ? used : TaskWriter.slabSizeLimit
        unsafe ThreadWriter(state).writeRegion(
          slab, count: Int(truncatingIfNeeded: kept &+ 32))
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
