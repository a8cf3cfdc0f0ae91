internal import IntermediateDump

/// Writes the top of the crashing thread's stack, before any other thread is stopped.
///
/// The top is 64 KiB, which is enough for 64 frames of 1 KiB each. The top is found from the registers alone, because
/// mappings that are read while threads still run may soon be outdated, and reading many mappings takes a long time.
///
/// RUNS-DURING-CRASH, on the capturing thread.
@safe
struct StackTop {
  private static var byteCount: Int { 65536 }
  /// How many bytes of the stack are written first, together with the exception.
  ///
  /// Writing them takes a few microseconds.
  private static var firstByteCount: Int { 8192 }

  private let capture: Capture
  private let memory: SafeMemory
  private let regions: MemoryWriter
  /// The maximum number of bytes of this stack that the whole dump may contain.
  private let limit: Int

  @_noLocks
  init(_ capture: Capture) {
    self.capture = capture
    memory = capture.memory
    regions = capture.regions
    limit = capture.installed.limits.crashingThreadStack
  }

  /// Writes the memory at the stack pointer, and the memory at the frame pointer if that is not already included.
  ///
  /// The second part is needed if a frame is larger than the first part, or if a large frame has overflowed the
  /// stack, so that the stack pointer is in other memory.
  @_noLocks
  func write(_ context: SignalContext) -> WrittenStack {
    let stackPointer = context.stackPointer
    let framePointer = context.framePointer
    var written = WrittenStack()
    capture.writer.startArray(.stack)
    if let start = memory.firstReadable(from: StackWriter.start(stackPointer)) {
      written.first = writeInTwo(start)
    }
    // No frame is larger than 4 GiB. In code without frame pointers, the frame-pointer register may have any value.
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
