internal import IntermediateDump

/// Writes the top of the crashing thread's stack, before any other thread is stopped.
///
/// It is enough for the innermost 64 frames of a kilobyte each. It only uses the registers, because a list of
/// mappings that is read while threads still run may be outdated when it is used, and many mappings take long to
/// read.
///
/// RUNS-DURING-CRASH, on the capturing thread.
@safe
struct StackTop {
  private static var byteCount: Int { 65536 }
  /// The bytes of the stack that are written first, together with the exception.
  ///
  /// They take a few microseconds.
  private static var firstByteCount: Int { 8192 }

  private let capture: Capture
  private let memory: SafeMemory
  private let regions: MemoryWriter
  /// The number of bytes of the stack in the whole dump.
  private let limit: Int

  @_noLocks
  init(_ capture: Capture) {
    self.capture = capture
    memory = capture.memory
    regions = capture.regions
    limit = capture.installed.limits.crashingThreadStack
  }

  /// Writes the memory at the stack pointer, and at the frame pointer if that is farther up.
  ///
  /// A frame may be larger than this part, and an overflow by a large frame leaves the stack pointer in other memory.
  @_noLocks
  func write(_ context: SignalContext) -> WrittenStack {
    let stackPointer = context.stackPointer
    let framePointer = context.framePointer
    var written = WrittenStack()
    capture.writer.startArray(.stack)
    if let start = memory.firstReadable(from: StackWriter.start(stackPointer)) {
      written.first = writeInTwo(start)
    }
    // No frame is larger than 4 GiB; a register that is not used as frame pointer may have any value.
    if framePointer > stackPointer, framePointer &- stackPointer <= 1 &<< 32,
      !written.first.contains(framePointer)
    {
      written.second = write(framePointer & ~15, limit: limit &- written.first.count)
    }
    capture.writer.end()
    return written
  }

  @inline(__always)
  private func writeInTwo(_ address: UInt64) -> AddressRange {
    let count = limit < StackTop.firstByteCount ? limit : StackTop.firstByteCount
    let first = write(address, limit: count)
    capture.flush()
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
