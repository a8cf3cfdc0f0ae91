internal import IntermediateDump

/// Writes a thread's stack.
///
/// RUNS-DURING-CRASH.
@safe
struct StackWriter {
  fileprivate let capture: Capture
  fileprivate let regions: MemoryWriter
  fileprivate let mappings: MappingTable

  /// Writes a stack from just below its stack pointer to the end of its mapping, up to the limit.
  ///
  /// - Parameters:
  ///   - stackPointer: the stack pointer of the stack's thread. After an overflow, the stack pointer is in the guard
  ///     region, and the stack is written from the next readable page on.
  ///   - threadPointer: the thread pointer of the stack's thread; 0 if unknown. If the address is in the stack's
  ///     mapping, the stack ends with the page of this address.
  ///   - limit: the maximum number of bytes; for a longer stack, three quarters of this number are captured at the
  ///     top, where the innermost calls are, and one quarter at the bottom.
  ///   - written: the parts of the stack that are already in the dump.
  ///   - stage: the buffer that may already contain parts of the stack.
  @_noLocks
  func write(
    from stackPointer: UInt64, threadPointer: UInt64, limit: Int,
    written: WrittenStack = WrittenStack(), stage: MemoryStage? = nil
  ) {
    let wanted = StackWriter.start(stackPointer)
    guard mappings.count > 0 else {
      // Without /proc, the end of the stack is not known.
      capture.writer.startArray(.stack)
      writeMemory(from: wanted, to: wanted &+ UInt64(truncatingIfNeeded: limit), except: written)
      capture.writer.end()
      return
    }
    guard let place = place(from: wanted, threadPointer) else { return }
    capture.writer.unsigned(.stackRegionStart, place.lowest)
    capture.writer.unsigned(.stackRegionEnd, place.end)
    var start = place.start
    var size = size(from: start, to: place.end)
    var (top, bottom) = StackWriter.parts(of: size, limit: limit)
    if stage?.bytes(start, count: top) == nil {
      start = regions.memory.firstReadable(from: start) ?? start
      size = self.size(from: start, to: place.end)
      (top, bottom) = StackWriter.parts(of: size, limit: limit)
    }
    let topEnd = start &+ UInt64(truncatingIfNeeded: top)
    let bottomStart = start &+ UInt64(truncatingIfNeeded: size &- bottom)
    capture.writer.startArray(.stack)
    writePart(start, count: top, except: written, stage)
    if bottom > 0 { writePart(bottomStart, count: bottom, except: written, stage) }
    capture.writer.end()
    let omitted = size &- top &- bottom &- written.count(from: topEnd, to: bottomStart)
    if omitted > 0 {
      capture.writer.unsigned(.stackBytesOmitted, UInt64(truncatingIfNeeded: omitted))
    }
  }

  /// How many bytes of a stack are captured at its top, where the innermost frames are, and how many at its bottom.
  private static func parts(of size: Int, limit: Int) -> (top: Int, bottom: Int) {
    guard size > limit else { return (size, 0) }
    let top = limit / 4 &* 3 & ~15
    return (top, (limit &- top) & ~15)
  }

  @inline(never)
  private func writePart(
    _ start: UInt64, count: Int, except written: WrittenStack, _ stage: MemoryStage?
  ) {
    if let bytes = stage?.bytes(start, count: count) {
      regions.write(start, bytes)
    } else {
      writeMemory(
        from: start, to: start &+ UInt64(truncatingIfNeeded: count), except: written)
    }
  }

  /// Returns the address from which to capture a stack, and the stack's bounds; nil if `wanted` cannot be the address
  /// of a stack.
  ///
  /// Since glibc 2.42, a stack's guard may be inside the stack's mapping, so that neighboring stacks share one
  /// mapping. The end of such a stack is found through the thread pointer, because libc keeps the thread's control
  /// block in the stack's last page.
  private func place(
    from wanted: UInt64, _ threadPointer: UInt64
  ) -> (start: UInt64, lowest: UInt64, end: UInt64)? {
    let index = mappings.readable(endingAbove: wanted)
    guard index < mappings.count else { return nil }
    let mapping = mappings[index]
    let start = mapping.start > wanted ? mapping.start : wanted
    // An address more than 1 GiB below the next readable mapping is not treated as a stack pointer.
    guard start &- wanted <= 1 &<< 30 else { return nil }
    let isInside = threadPointer > start && threadPointer < mapping.end
    let end = isInside ? (threadPointer & ~4095) &+ 4096 : mapping.end
    return (start, mapping.start, end)
  }

  /// Adds a stack to the ranges that `stage` reads with one system call.
  ///
  /// - Returns: false if `stage` has no room for the stack, or if part of the stack is not in memory.
  @_noLocks
  func add(
    from stackPointer: UInt64, threadPointer: UInt64, limit: Int, to stage: MemoryStage
  ) -> Bool {
    guard let place = place(from: StackWriter.start(stackPointer), threadPointer) else {
      return true
    }
    let size = size(from: place.start, to: place.end)
    guard size > 0 else { return true }
    let (top, bottom) = StackWriter.parts(of: size, limit: limit)
    guard stage.add(place.start, count: top) else { return false }
    return bottom == 0
      || stage.add(place.start &+ UInt64(truncatingIfNeeded: size &- bottom), count: bottom)
  }

  /// Returns the number of bytes from an address up to the end of the stack.
  ///
  /// The main thread's stack ends before the arguments and the environment, which are at the end of the same mapping,
  /// so they are not counted.
  private func size(from start: UInt64, to end: UInt64) -> Int {
    end > start ? regions.memory.allowed(start, count: Int(truncatingIfNeeded: end &- start)) : 0
  }

  /// Returns the address at which the capture of a stack starts: 128 bytes below the stack pointer, rounded down to a
  /// multiple of 16.
  ///
  /// The System V ABI for x86-64 lets a leaf function use 128 bytes below the stack pointer.
  @_noLocks
  static func start(_ stackPointer: UInt64) -> UInt64 {
    stackPointer < 128 ? 0 : (stackPointer &- 128) & ~15
  }

  /// Writes a range, except the bytes that were already written.
  private func writeMemory(from start: UInt64, to end: UInt64, except written: WrittenStack) {
    var place = start
    while place < end {
      let next = written.end(around: place)
      if next > place {
        place = next
        continue
      }
      let stop = written.start(above: place, below: end)
      regions.write(place, count: Int(truncatingIfNeeded: stop &- place))
      place = stop
    }
  }
}

extension Capture {
  var stacks: StackWriter {
    @_noLocks get { StackWriter(capture: self, regions: regions, mappings: session.mappings) }
  }
}
