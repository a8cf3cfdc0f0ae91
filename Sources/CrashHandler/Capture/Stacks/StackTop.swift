internal import CSignalSafe
internal import IntermediateDump

/// Writes the top of the crashing thread's stack, before any other thread is stopped.
///
/// Enough for the innermost 64 frames of a kilobyte each. Straight from the registers: a list of
/// mappings that was read while threads still run may be wrong when it is used, and takes as long as
/// there are mappings.
///
/// RUNS-DURING-CRASH, on the capturing thread.
@safe
struct StackTop {
  private static var byteCount: Int { 65536 }
  /// Bytes of it that are flushed first, together with the exception: a few microseconds.
  private static var firstByteCount: Int { 8192 }

  private let memory: SafeMemory
  private let regions: MemoryWriter
  private let limit: Int
  private let output: DumpOutput

  /// - Parameter limit: bytes of the stack in the whole dump.
  @_noLocks
  init(memory: SafeMemory, regions: MemoryWriter, limit: Int, output: DumpOutput) {
    self.memory = memory
    self.regions = regions
    self.limit = limit
    self.output = output
  }

  /// Writes what the stack pointer points to, and what the frame pointer does where that is farther
  /// up: a frame may be larger than all of it, and an overflow by such a frame leaves the stack
  /// pointer in other memory.
  @_noLocks
  func write(_ context: SignalContext) -> WrittenStack {
    let stackPointer = context.stackPointer
    let framePointer = context.framePointer
    var written = WrittenStack()
    output.startArray(.stack)
    if let start = memory.firstReadable(from: StackWriter.start(stackPointer)) {
      written.first = writeInTwo(start)
    }
    // No frame is larger than 4 GiB; a pointer that is no frame pointer points anywhere.
    if framePointer > stackPointer, framePointer &- stackPointer <= 1 &<< 32,
      !written.first.contains(framePointer)
    {
      written.second = write(framePointer & ~15, limit: limit &- written.first.count)
    }
    output.end()
    return written
  }

  private func writeInTwo(_ address: UInt64) -> AddressRange {
    let count = limit < StackTop.firstByteCount ? limit : StackTop.firstByteCount
    let first = write(address, limit: count)
    output.flush()
    guard first.count == count, count < limit, count < StackTop.byteCount else { return first }
    let rest = StackTop.byteCount &- count
    let left = limit &- count
    let second = write(first.end, limit: left < rest ? left : rest)
    return AddressRange(start: address, count: first.count &+ second.count)
  }

  private func write(_ address: UInt64, limit: Int) -> AddressRange {
    let count = limit < StackTop.byteCount ? limit : StackTop.byteCount
    let allowed = memory.allowed(address, count: count)
    guard allowed > 0 else { return AddressRange() }
    return AddressRange(
      start: address, count: regions.writeReadable(address, count: allowed))
  }
}

/// Finds the crashing thread's stack where its stack pointer has left it.
///
/// One frame larger than the guard takes the stack pointer past it, into memory of anybody else or
/// into none: what is mapped next is then not the stack. The frame pointer, which is set before the
/// frame is made, is still in it.
///
/// RUNS-DURING-CRASH, on the capturing thread.
@safe
struct CrashedStack {
  private let mappings: MappingTable
  private let environmentStart: UInt64

  @_noLocks
  init(mappings: MappingTable, environmentStart: UInt64) {
    self.mappings = mappings
    self.environmentStart = environmentStart
  }

  /// The address to capture from: the stack pointer, or the beginning of the thread's own stack if
  /// that lies above and the frame pointer is in it.
  @_noLocks
  func lowestAddress(_ context: SignalContext) -> UInt64 {
    let stackPointer = context.stackPointer
    let framePointer = context.framePointer
    guard stackPointer < framePointer else { return stackPointer }
    let index = mappings.index(endingAbove: framePointer)
    guard index < mappings.count, mappings[index].start <= framePointer,
      mappings[index].start > stackPointer, mappings[index].has(Mapping.isReadable)
    else { return stackPointer }
    // libc keeps a thread's control block at the top of its stack; the main thread's is elsewhere,
    // and its arguments are at the top.
    guard
      contains(mappings[index], pm_thread_pointer())
        || contains(mappings[index], environmentStart)
    else { return stackPointer }
    // Less the red zone, which the writer adds, that is where it starts.
    return mappings[index].start &+ 128
  }

  private func contains(_ mapping: Mapping, _ address: UInt64) -> Bool {
    mapping.start <= address && address < mapping.end
  }
}
