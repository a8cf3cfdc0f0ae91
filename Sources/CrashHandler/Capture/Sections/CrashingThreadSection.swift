internal import CSignalSafe
internal import IntermediateDump

/// Writes the crashing thread's registers and the top of its stack.
///
/// In the dump of a hang, the hung thread is written later, after it has been stopped.
///
/// RUNS-DURING-CRASH.
@c(pm_write_crashing_thread_top) @_noLocks
func pm_write_crashing_thread_top(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  guard capture.capturesItself else { return }
  // The code that removes secrets needs the mappings to recognize addresses, so the mappings are read here, and again
  // after the threads are stopped. Reading the mappings may take a long time, so the exception is written to the file
  // first.
  if capture.installed.isSanitized {
    capture.flush()
    unsafe pm_read_mappings(argument)
  }
  capture.writer.startMap(.crashingThread)
  capture.writeRegisters()
  if let context = capture.session.exception.signal.context {
    capture.session.progress.writtenStack = capture.writeStackTop(context)
  }
  capture.writer.end()
}

/// Writes the rest of the crashing thread: its data from `/proc`, the rest of its stack, and the memory that its
/// registers point to.
///
/// RUNS-DURING-CRASH.
@c(pm_write_crashing_thread) @_noLocks
func pm_write_crashing_thread(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  guard capture.capturesItself else {
    if let context = capture.writeHungThread() { capture.writeMemory(around: context) }
    return
  }
  let exception = capture.session.exception
  capture.writer.startMap(.crashingThread)
  // The registers are written again if the section that writes them was interrupted.
  if capture.session.progress.abandoned & DumpSection.crashingThreadTop.bit != 0 {
    capture.writeRegisters()
  }
  ThreadWriter(capture).writeOwnStatus(exception.threadID)
  if let context = exception.signal.context {
    let limit = capture.installed.limits.crashingThreadStack
    capture.stacks.write(
      from: capture.lowestStackAddress(context), threadPointer: pm_thread_pointer(), limit: limit,
      written: capture.session.progress.writtenStack)
    // The bounds of the stack that is written first are those of the thread's stack in the dump.
    if let interrupted = capture.interruptedStackPointer(context) {
      capture.stacks.write(from: interrupted, threadPointer: pm_thread_pointer(), limit: limit)
    }
  }
  capture.writer.end()
  if let context = exception.signal.context { capture.writeMemory(around: context) }
}

extension Capture {
  /// - Parameter isForLog: true to leave out the floating-point and vector state.
  @_noLocks
  func writeRegisters(isForLog: Bool = false) {
    let threads = ThreadWriter(self)
    threads.writeIdentity(threadID: session.exception.threadID, method: .crashed)
    if let context = session.exception.signal.context {
      writer.unsigned(.blockedSignals, context.signalMask)
      if isForLog { threads.writeGeneralRegisters(context) } else { threads.writeContext(context) }
    }
    writer.unsigned(.threadPointer, pm_thread_pointer())
  }

  /// Returns the stack pointer of the code that a handler of the program interrupted, if the thread crashed in that
  /// handler on its alternate stack; nil otherwise.
  ///
  /// Each signal frame contains the bounds of the alternate stack (`uc_stack`), by which the handler's frame is found
  /// there.
  fileprivate func interruptedStackPointer(_ context: SignalContext) -> UInt64? {
    guard context.isOnSignalStack else { return nil }
    let (stack, scratch) = (context.signalStack, session.scratch)
    let rest = Int(truncatingIfNeeded: stack.base &+ stack.size &- context.stackPointer)
    let count = unsafe memory.copy(
      context.stackPointer, to: scratch.address, count: rest < scratch.size ? rest : scratch.size)
    // A frame has at least 512 bytes from its context on.
    for index in Indices(count / 8 &- 64) {
      let place = scratch.dropFirst(index &* 8)
      guard place.word(16) == stack.base, place.word(32) == stack.size,
        let frame = unsafe SignalContext(place.address)
      else { continue }
      if frame.stackPointer &- stack.base >= stack.size { return frame.stackPointer }
    }
    return nil
  }

  /// Writes the hung thread, which is not the thread that takes the dump.
  ///
  /// - Returns: the hung thread's context, if that thread was stopped.
  fileprivate func writeHungThread() -> SignalContext? {
    guard let record = session.threads.find(session.exception.threadID), !record.status.isGone
    else { return nil }
    ThreadWriter(self).write(
      record, limit: installed.limits.crashingThreadStack, as: .crashingThread)
    return record.has(.stopped) ? record.fields.context : nil
  }

  /// Writes the memory that the registers point to, and the unwind tables that cannot be read from a file later.
  ///
  /// If the dump leaves out secrets, it contains the code around the instruction pointer instead of the memory that the
  /// registers point to.
  fileprivate func writeMemory(around context: SignalContext) {
    writer.startArray(.memory)
    // This region holds the instructions before and after the current one, in at most two pages.
    writeCode(at: context, distance: 256)
    if !installed.isSanitized { writeMemory(aroundRegisters: context.generalRegisters) }
    writer.end()
    writer.startArray(.memory)
    writeLostTables(context)
    writer.end()
  }

  /// Writes the code around the instruction pointer; if the dump leaves out secrets, only code that is mapped from a
  /// file and is not writable.
  ///
  /// - Parameter distance: the number of bytes before and after the instruction pointer.
  @_noLocks
  func writeCode(at context: SignalContext, distance: UInt64) {
    let address = context.instructionPointer
    guard installed.isSanitized else {
      cachedRegions.writeRegion(
        address &- distance, count: Int(truncatingIfNeeded: distance) &* 2)
      return
    }
    let mappings = session.mappings
    guard let mapping = mappings.mapping(around: address), mapping.has(Mapping.isExecutable),
      !mapping.has(Mapping.isWritable), mappings.path(of: mapping)[0] == 0x2F  // "/"
    else { return }
    let start = address &- mapping.start < distance ? mapping.start : address &- distance
    let end = mapping.end &- address < distance ? mapping.end : address &+ distance
    plainRegions.writeRegion(start, count: Int(truncatingIfNeeded: end &- start))
  }
}

/// Finds the crashing thread's stack even if the thread's stack pointer no longer points into that stack.
///
/// A frame that is larger than the guard region moves the stack pointer past that region, into other memory or
/// unmapped memory. The next mapping above the stack pointer may then not be the stack. But the frame pointer, which
/// is set before the stack pointer moves, still points into the stack.
///
/// RUNS-DURING-CRASH, on the thread that takes the dump.
extension Capture {
  /// Returns the address from which the stack is captured, before the red zone is subtracted: the stack pointer, or an
  /// address 128 bytes above the start of the thread's stack.
  ///
  /// The latter is returned if the whole stack is above the stack pointer, and the frame pointer points into the stack.
  @_noLocks
  func lowestStackAddress(_ context: SignalContext) -> UInt64 {
    let stackPointer = context.stackPointer
    guard let mapping = session.mappings.mapping(around: context.framePointer),
      mapping.start > stackPointer, mapping.has(Mapping.isReadable)
    else { return stackPointer }
    // libc keeps a thread's control block at the top of the thread's stack. The main thread's control block is
    // elsewhere; the top of its stack holds the program's arguments. A mapping that contains neither is not treated as
    // the thread's stack.
    guard mapping.contains(pm_thread_pointer()) || mapping.contains(installed.environment.start)
    else { return stackPointer }
    // `StackWriter` subtracts the red zone of 128 bytes from this address, so the capture starts at `mapping.start`.
    return mapping.start &+ 128
  }
}
