internal import IntermediateDump

/// Writes the top of the crashing thread's stack, before any other thread is stopped.
///
/// The top is at most 64 KiB, which is enough for 64 frames of 1 KiB each; with a large innermost frame, a second part
/// of at most 64 KiB follows. Both parts are found from the registers alone, because mappings that are read while
/// threads still run may soon be outdated, and reading many mappings takes a long time.
///
/// RUNS-DURING-CRASH, on the thread that takes the dump.
extension Capture {
  /// Writes the memory at the stack pointer, and the memory at the frame pointer unless the first part includes it.
  ///
  /// The second part is needed if a frame is larger than the first part. It is also needed if a large frame has
  /// overflowed the stack, because the stack pointer is then in other memory.
  @_noLocks
  func writeStackTop(_ context: SignalContext) -> WrittenStack {
    let (stackPointer, framePointer) = (context.stackPointer, context.framePointer)
    // The maximum number of bytes of this stack in the whole dump.
    let limit = installed.limits.crashingThreadStack
    var written = WrittenStack()
    writer.startArray(.stack)
    if let start = memory.firstReadable(from: StackWriter.start(stackPointer)) {
      written.first = writeInTwo(start, limit: limit)
    }
    // A frame of more than 4 GiB is not plausible. In code without frame pointers, the frame-pointer register may have
    // any value.
    if framePointer > stackPointer, framePointer &- stackPointer <= 1 &<< 32,
      !written.first.contains(framePointer)
    {
      written.second = writeTop(framePointer & ~15, limit: limit &- written.first.count)
    }
    writer.end()
    return written
  }

  /// Writes the first 8 KiB to the file together with the exception, so that both are there within a few microseconds;
  /// then writes the rest.
  @inline(__always)
  private func writeInTwo(_ address: UInt64, limit: Int) -> AddressRange {
    let count = limit < 8192 ? limit : 8192
    let first = writeTop(address, limit: count)
    flush()
    guard first.count == count, count < limit else { return first }
    let rest = StackTop.byteCount &- count
    let left = limit &- count
    let second = writeTop(first.end, limit: left < rest ? left : rest)
    return AddressRange(start: address, count: first.count &+ second.count)
  }

  private func writeTop(_ address: UInt64, limit: Int) -> AddressRange {
    let count = limit < StackTop.byteCount ? limit : StackTop.byteCount
    let allowed = memory.allowed(address, count: count)
    guard allowed > 0 else { return AddressRange() }
    return AddressRange(
      start: address, count: regions.writeReadable(address, count: allowed))
  }
}

private enum StackTop {
  fileprivate static var byteCount: Int { 65536 }
}
