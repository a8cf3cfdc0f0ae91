internal import CSignalSafe
internal import IntermediateDump

/// The top of the crashing thread's stack, written before any other thread is stopped.
///
/// Enough for the innermost 64 frames of a kilobyte each. Straight from the registers: a list of
/// mappings that was read while threads still run may be wrong when it is used, and takes as long as
/// there are mappings.
///
/// RUNS-DURING-CRASH, on the capturing thread.
@safe
struct StackTop {
  private static var byteCount: Int { @_noLocks get { 65536 } }
  /// As much of it as is flushed first, together with the exception: a few microseconds.
  private static var firstByteCount: Int { @_noLocks get { 8192 } }
  /// Pages above the stack pointer of an overflow that may be its guard.
  private static var guardPages: Int { @_noLocks get { 64 } }

  private let capture: Capture

  @_noLocks
  init(_ capture: Capture) {
    self.capture = capture
  }

  /// Writes what the stack pointer points to, and what the frame pointer does where that is farther
  /// up: a frame may be larger than all of it, and an overflow by such a frame leaves the stack
  /// pointer in other memory.
  @_noLocks
  func write(_ context: SignalContext) {
    let stackPointer = context.stackPointer
    let framePointer = context.framePointer
    let limit = capture.installed.limits.crashingThreadStack
    var written = WrittenStack()
    capture.session.writer.startArray(.stack)
    let start = firstReadable(from: ThreadWriter.stackStart(stackPointer))
    if start != 0 { written.first = writeInTwo(start, limit: limit) }
    // No frame is larger than 2 GiB; a pointer that is no frame pointer points anywhere.
    if framePointer > stackPointer, framePointer &- stackPointer <= 1 &<< 32,
      !written.first.contains(framePointer)
    {
      written.second = write(framePointer & ~15, limit: limit &- written.first.count)
    }
    capture.session.writer.end()
    capture.session.writtenStack = written
  }

  /// The address, or that of the next page above it that can be read; 0 if that is far.
  @_noLocks
  private func firstReadable(from address: UInt64) -> UInt64 {
    var place = address
    var page = 0
    while page <= StackTop.guardPages {
      if capture.memory.isReadable(place) { return place }
      place = (place & ~4095) &+ 4096
      page &+= 1
    }
    return 0
  }

  @_noLocks
  private func writeInTwo(_ address: UInt64, limit: Int) -> AddressRange {
    let count = limit < StackTop.firstByteCount ? limit : StackTop.firstByteCount
    let first = write(address, limit: count)
    if OwnDescriptors(capture).check() { capture.session.writer.flush() }
    guard first.count == count, count < limit, count < StackTop.byteCount else { return first }
    let rest = StackTop.byteCount &- count
    let left = limit &- count
    let second = write(first.end, limit: left < rest ? left : rest)
    return AddressRange(start: address, count: first.count &+ second.count)
  }

  @_noLocks
  private func write(_ address: UInt64, limit: Int) -> AddressRange {
    let count = limit < StackTop.byteCount ? limit : StackTop.byteCount
    let allowed = capture.memory.allowed(address, count: count)
    guard allowed > 0 else { return AddressRange() }
    let copied = ThreadWriter(capture).writeReadable(address, count: allowed)
    return AddressRange(start: address, count: copied)
  }
}

/// What of a stack is in the dump already: two runs of bytes.
///
/// RUNS-DURING-CRASH.
struct WrittenStack {
  var first = AddressRange()
  var second = AddressRange()

  @_noLocks
  init() {}

  /// Where the run ends that holds an address; the address itself if none does.
  @_noLocks
  func end(around address: UInt64) -> UInt64 {
    if first.contains(address) { return first.end }
    return second.contains(address) ? second.end : address
  }

  /// Where the next run begins above an address and below a limit; the limit if none does.
  @_noLocks
  func start(above address: UInt64, below limit: UInt64) -> UInt64 {
    var result = limit
    if first.count > 0, first.start > address, first.start < result { result = first.start }
    if second.count > 0, second.start > address, second.start < result { result = second.start }
    return result
  }

  /// How many bytes of the two lie in a range.
  @_noLocks
  func count(from start: UInt64, to end: UInt64) -> Int {
    var result = 0
    var place = start
    while place < end {
      let next = self.end(around: place)
      if next > place {
        result &+= Int(truncatingIfNeeded: (next < end ? next : end) &- place)
        place = next
      } else {
        place = self.start(above: place, below: end)
      }
    }
    return result
  }
}

/// A run of addresses.
///
/// RUNS-DURING-CRASH.
struct AddressRange {
  let start: UInt64
  let count: Int

  @_noLocks
  init(start: UInt64 = 0, count: Int = 0) {
    self.start = start
    self.count = count
  }

  var end: UInt64 { @_noLocks get { start &+ UInt64(truncatingIfNeeded: count) } }

  @_noLocks
  func contains(_ address: UInt64) -> Bool {
    address &- start < UInt64(truncatingIfNeeded: count)
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
  private let capture: Capture

  @_noLocks
  init(_ capture: Capture) {
    self.capture = capture
  }

  /// What to capture from: the stack pointer, or the beginning of the thread's own stack if that
  /// lies above and the frame pointer is in it.
  @_noLocks
  func lowestAddress(_ context: SignalContext) -> UInt64 {
    let stackPointer = context.stackPointer
    let framePointer = context.framePointer
    guard stackPointer < framePointer else { return stackPointer }
    let mappings = capture.session.mappings
    let index = mappings.index(endingAbove: framePointer)
    guard index < mappings.count, mappings[index].start <= framePointer,
      mappings[index].start > stackPointer, mappings[index].has(Mapping.isReadable)
    else { return stackPointer }
    // libc keeps a thread's control block at the top of its stack; the main thread's is elsewhere,
    // and its arguments are at the top.
    guard
      contains(mappings[index], pm_thread_pointer())
        || contains(mappings[index], capture.installed.environment.start)
    else { return stackPointer }
    // Less the red zone, which the writer adds, that is where it starts.
    return mappings[index].start &+ 128
  }

  @_noLocks
  private func contains(_ mapping: Mapping, _ address: UInt64) -> Bool {
    mapping.start <= address && address < mapping.end
  }
}
