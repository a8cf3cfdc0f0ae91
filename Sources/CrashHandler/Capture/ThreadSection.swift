internal import CSignalSafe
internal import IntermediateDump

/// Who crashed, its registers and the top of its stack: what a dump is worth most by.
///
/// A hung thread is written once it stands still.
///
/// RUNS-DURING-CRASH.
@c(pm_write_crashing_thread_top) @_noLocks
func pm_write_crashing_thread_top(_ argument: UnsafeMutableRawPointer) {
  let state = unsafe argument.assumingMemoryBound(to: HandlerState.self)
  guard unsafe state.pointee.request.kind != .hang else { return }
  unsafe state.pointee.writer.startMap(.crashingThread)
  unsafe writeRegisters(state)
  if let context = unsafe state.pointee.context { unsafe StackTop(state).write(context) }
  unsafe state.pointee.writer.end()
}

/// The rest of the thread that crashed: what the kernel tells of it, the rest of its stack, and the
/// memory around its registers.
///
/// RUNS-DURING-CRASH.
@c(pm_write_crashing_thread) @_noLocks
func pm_write_crashing_thread(_ argument: UnsafeMutableRawPointer) {
  let state = unsafe argument.assumingMemoryBound(to: HandlerState.self)
  if unsafe state.pointee.request.kind == .hang {
    unsafe writeHungThread(state)
    return
  }
  let thread = unsafe ThreadWriter(state)
  unsafe state.pointee.writer.startMap(.crashingThread)
  // Again, where the section that writes them was broken off.
  if unsafe state.pointee.sectionsAbandoned & 1 &<< 20 != 0 { unsafe writeRegisters(state) }
  thread.writeOwnStatus()
  if let context = unsafe state.pointee.context {
    thread.writeStack(
      from: unsafe CrashedStack(state).lowestAddress(context),
      limit: unsafe state.pointee.limits.crashingThreadStack,
      written: unsafe state.pointee.stackTop)
  }
  unsafe state.pointee.writer.end()
  if let context = unsafe state.pointee.context { unsafe writeMemory(state, around: context) }
}

@_noLocks
private func writeRegisters(_ state: UnsafeMutablePointer<HandlerState>) {
  let thread = unsafe ThreadWriter(state)
  thread.writeIdentity(threadID: unsafe state.pointee.threadID, method: 1)
  if let context = unsafe state.pointee.context {
    unsafe state.pointee.writer.unsigned(.blockedSignals, pm_context_signal_mask(context))
    thread.writeContext(UInt64(truncatingIfNeeded: UInt(bitPattern: context)))
  }
  unsafe state.pointee.writer.unsigned(.threadPointer, pm_thread_pointer())
}

/// The thread that hangs, which is not the one that captures.
@_noLocks
private func writeHungThread(_ state: UnsafeMutablePointer<HandlerState>) {
  guard let record = unsafe state.pointee.threads.find(state.pointee.threadID),
    record.status != .gone
  else { return }
  unsafe ThreadWriter(state).writeThread(
    record, limit: state.pointee.limits.crashingThreadStack, as: .crashingThread)
  guard record.status == .stopped,
    let context = unsafe UnsafeMutableRawPointer(
      bitPattern: UInt(truncatingIfNeeded: record.context))
  else { return }
  unsafe writeMemory(state, around: context)
}

/// The memory that a context's registers point at.
@_noLocks
private func writeMemory(
  _ state: UnsafeMutablePointer<HandlerState>, around pointer: UnsafeMutableRawPointer
) {
  let thread = unsafe ThreadWriter(state)
  let instruction = unsafe pm_context_instruction_pointer(pointer)
  unsafe state.pointee.writer.startArray(.memory)
  // Enough for the instructions before and behind it, at most in two pages.
  thread.writeRegion(instruction &- 256, count: 512)
  unsafe RegisterMemory(state).write(registers: pm_context_general_registers(pointer))
  unsafe state.pointee.writer.end()
}

/// Every other thread.
///
/// RUNS-DURING-CRASH.
@c(pm_write_threads) @_noLocks
func pm_write_threads(_ argument: UnsafeMutableRawPointer) {
  let state = unsafe argument.assumingMemoryBound(to: HandlerState.self)
  let thread = unsafe ThreadWriter(state)
  unsafe state.pointee.writer.startArray(.threads)
  var index = 0
  let count = unsafe state.pointee.threads.count
  while index < count {
    let record = unsafe state.pointee.threads[index]
    // A hung thread is written already.
    if unsafe record.status != .gone && record.threadID != state.pointee.threadID {
      thread.writeThread(record, limit: unsafe state.pointee.limits.otherThreadStack)
    }
    index &+= 1
  }
  unsafe state.pointee.writer.end()
}
