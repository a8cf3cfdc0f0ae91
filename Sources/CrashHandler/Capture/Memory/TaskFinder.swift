internal import CSignalSafe
internal import IntermediateDump

/// Finds the Swift task that each thread runs.
///
/// RUNS-DURING-CRASH. Source: swift stdlib/public/Concurrency/Actor.cpp, class ActiveTask, a
/// thread-local variable.
@safe
struct TaskFinder {
  /// The maximum number of bytes that are searched in the Swift runtime's thread-local block.
  ///
  /// The block has 32 bytes. It is larger only if Swift's libraries are linked statically, because it then also holds
  /// the other thread-local variables of the program.
  private static var blockLimit: Int { 4096 }
  /// The maximum number of pointers that are followed from the thread-local blocks of all threads together.
  private static var candidateLimit: UInt64 { 16384 }
  /// The offsets, in scratch memory, of three values: the number of pointers that were followed, one thread-local
  /// block, and the blocks of several threads.
  ///
  /// One system call reads the blocks of several threads.
  private static var followedOffset: Int { 8 }
  private static var blockOffset: Int { 8192 }
  private static var stageOffset: Int { 16384 }

  let facts: pm_task_facts
  let memory: SafeMemory
  let scratch: Scratch
  private let stage: MemoryStage

  /// The finder overwrites parts of the capture's scratch memory: the word at offset 8, 4 KiB from offset 8,192, and
  /// everything from 16,384 on.
  @_noLocks
  init(_ capture: Capture) {
    facts = capture.installed.runtime.tasks
    memory = capture.cachedMemory
    scratch = capture.session.scratch
    stage = MemoryStage(memory, in: scratch.dropFirst(TaskFinder.stageOffset))
    scratch.setWord(TaskFinder.followedOffset, 0)
  }

  /// Reads the thread-local blocks of as many threads as fit into `stage`, with one system call; returns the index of
  /// the next thread.
  @_noLocks
  func readBlocks(of threads: ThreadTable, from first: Int) -> Int {
    stage.removeAll()
    var index = first
    while index < threads.count, addBlock(of: threads[index]) { index &+= 1 }
    stage.read()
    return index > first ? index : first &+ 1
  }

  /// Adds a thread's block to `stage`; returns false if `stage` has no room for the block, or if the block is not
  /// entirely in memory.
  private func addBlock(of record: ThreadRecord) -> Bool {
    let pointer = record.fields.threadPointer
    return !record.status.isStill || pointer == 0 || stage.add(block(at: pointer), count: blockSize)
  }

  /// The address of the block that holds the Swift runtime's thread-local variables for one thread.
  private func block(at threadPointer: UInt64) -> UInt64 {
    threadPointer &+ UInt64(bitPattern: facts.block_offset)
  }

  private var blockSize: Int {
    let limit = UInt64(truncatingIfNeeded: TaskFinder.blockLimit)
    return Int(truncatingIfNeeded: facts.block_size < limit ? facts.block_size : limit)
  }

  /// Finds the task that a thread runs: the first task to which a word in the thread's block of thread-local variables
  /// points.
  ///
  /// Every task object begins with the same word. So a word that points to memory with another first word is not a
  /// pointer to a task.
  @_noLocks
  func task(at threadPointer: UInt64) -> UInt64? {
    guard facts.task_metadata != 0, threadPointer != 0 else { return nil }
    let words = words(at: block(at: threadPointer))
    var followed = scratch.word(TaskFinder.followedOffset)
    var offset = 0
    var found: UInt64?
    while offset &+ 8 <= words.count, followed < TaskFinder.candidateLimit, found == nil {
      let candidate = words.word(offset)
      offset &+= 8
      guard candidate >= 0x10000, candidate & 15 == 0 else { continue }
      followed &+= 1
      if memory.word(candidate) == facts.task_metadata { found = candidate }
    }
    scratch.setWord(TaskFinder.followedOffset, followed)
    return found
  }

  /// The readable bytes of a thread-local block.
  private func words(at block: UInt64) -> Bytes {
    if let bytes = stage.bytes(block, count: blockSize) { return bytes }
    let copy = scratch.dropFirst(TaskFinder.blockOffset)
    return copy.bytes(count: memory.copy(block, to: copy, count: blockSize))
  }
}
