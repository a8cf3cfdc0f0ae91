internal import CSignalSafe
internal import IntermediateDump

/// Writes the memory that shows which locks the threads wait for, and which threads hold these locks.
///
/// RUNS-DURING-CRASH.
@c(pm_write_pointed_memory) @_noLocks
func pm_write_pointed_memory(_ argument: UnsafeMutableRawPointer) {
  unsafe WaitWriter(Capture(argument)).write()
}

/// Writes the futex words on which threads wait in futex(2), and the locks that contain these words.
///
/// The addresses are first collected in scratch memory; then each system call reads the memory around up to 32 words.
///
/// RUNS-DURING-CRASH. Source: glibc sysdeps/nptl/bits/struct_mutex.h, struct_rwlock.h.
@safe
private struct WaitWriter {
  /// The maximum number of threads whose futex words are written.
  private static var limit: Int { 256 }
  /// The number of bytes written before a futex word, where a `pthread_rwlock_t` may begin, and the total number of
  /// bytes written for each futex word.
  private static var bytesBelow: UInt64 { 16 }
  private static var size: Int { 56 }
  /// The offset, in scratch memory, of the contents of the futex words; 16 bytes for each thread precede them.
  private static var stageOffset: Int { 8192 }
  /// The maximum number of queues that are written for one call of libdispatch's `sync`: the queue on which it was
  /// called, and its target queues.
  private static var queueLimit: Int { 4 }

  private let memory: SafeMemory
  private let scratch: Scratch
  private let stage: MemoryStage
  private let regions: MemoryWriter
  private let capture: Capture

  fileprivate init(_ capture: Capture) {
    self.capture = capture
    memory = capture.cachedMemory
    scratch = capture.session.scratch
    stage = MemoryStage(memory, in: scratch.dropFirst(WaitWriter.stageOffset))
    regions = capture.cachedRegions
  }

  fileprivate func write() {
    let count = findWords()
    guard count > 0 else { return }
    capture.writer.startArray(.memory)
    var read = 0
    for index in Indices(count) {
      if index >= read { read = readWords(from: index, to: count) }
      writeWord(index)
    }
    capture.writer.end()
  }

  /// Stores the address of each thread's futex word in scratch memory, followed by the thread's ID.
  ///
  /// - Returns: the number of words.
  private func findWords() -> Int {
    var count = 0
    let exception = capture.session.exception
    if capture.capturesItself, let context = exception.signal.context,
      let word = interruptedWord(context)
    {
      add(word, of: exception.threadID, at: &count)
    }
    let threads = capture.session.threads
    for index in Indices(threads.count) where count < WaitWriter.limit {
      let record = threads[index]
      if let word = word(of: record) { add(word, of: record.threadID, at: &count) }
    }
    return count
  }

  private func add(_ word: UInt64, of threadID: Int32, at count: inout Int) {
    scratch.setWord(count &* 16, word)
    scratch.setWord(count &* 16 &+ 8, UInt64(UInt32(bitPattern: threadID)))
    count &+= 1
  }

  /// Returns the address of the futex word on which a thread waits; nil if the thread is not known to wait on one.
  ///
  /// The address comes from the arguments of the thread's system call, which were read before the thread was stopped.
  private func word(of record: ThreadRecord) -> UInt64? {
    guard !record.status.isGone else { return nil }
    if record.status.isStill, let context = record.fields.context,
      !record.isInSystemCall(context)
    {
      return nil
    }
    var text = record.systemCall.text
    guard text.decimal() == UInt64(SYS_futex) else { return nil }
    text.skipBlanks()
    return text.hexadecimal()
  }

  /// Returns the address of the futex word on which the capturing thread was waiting; nil if the signal interrupted no
  /// futex call, or a futex call with a time limit.
  ///
  /// If the signal interrupted a futex call without a time limit, the kernel has set the thread's instruction pointer
  /// back to the system call instruction, because the call is restarted after the handler. A futex call with a time
  /// limit ends with EINTR instead, so the instruction pointer is after it.
  private func interruptedWord(_ context: SignalContext) -> UInt64? {
    let registers = context.generalRegisters
    #if arch(arm64)
      let (call, word) = (registers.word(8 &* 8), registers.word(0))
      let instruction: UInt32 = 0xD400_0001
    #else
      let (call, word) = (registers.word(13 &* 8), registers.word(8 &* 8))
      let instruction: UInt32 = 0x050F
    #endif
    guard call == UInt64(SYS_futex) else { return nil }
    let size = instruction > 0xFFFF ? 4 : 2
    let found = memory.instruction(at: context.instructionPointer, size: size)
    return found == instruction ? word : nil
  }

  /// Reads the memory around as many of the futex words as fit into `stage`, with one system call; returns the index of
  /// the next word.
  private func readWords(from first: Int, to count: Int) -> Int {
    stage.removeAll()
    var index = first
    while index < count, stage.add(start(index), count: WaitWriter.size) { index &+= 1 }
    stage.read()
    return index > first ? index : first &+ 1
  }

  private func start(_ index: Int) -> UInt64 { scratch.word(index &* 16) &- WaitWriter.bytesBelow }

  private func writeWord(_ index: Int) {
    var words = scratch.bytes(0, count: 0)
    if let bytes = stage.bytes(start(index), count: WaitWriter.size) {
      words = bytes
      regions.write(start(index), bytes)
    } else {
      regions.writeRegion(start(index), count: WaitWriter.size)
    }
    // A libdispatch event on which a thread waits is recognized by UINT32_MAX, followed by the thread's ID.
    let (event, thread) = (scratch.word(index &* 16), scratch.word(index &* 16 &+ 8))
    if words.word(Int(WaitWriter.bytesBelow)) == thread &<< 32 | 0xFFFF_FFFF { writeQueues(event) }
  }

  /// Writes the queues that a call of `sync` waits for; the state of a queue contains the ID of the thread that runs
  /// it.
  ///
  /// Source: swift-corelibs-libdispatch src/queue_internal.h, dispatch_sync_context_s, dispatch_queue_s.
  private func writeQueues(_ event: UInt64) {
    var pointer = event &- 40
    var count = 0
    while count < WaitWriter.queueLimit, let queue = memory.word(pointer), queue >= 0x10000,
      regions.writeRegion(queue, count: 96) == 96
    {
      if let label = memory.word(queue &+ 72), label >= 0x10000 {
        regions.writeRegion(label, count: 64)
      }
      pointer = queue &+ 24
      count &+= 1
    }
  }
}
