internal import CSignalSafe
internal import IntermediateDump

/// Who crashed, its registers and the top of its stack: what a dump is worth most by.
///
/// A hung thread is written once it stands still.
///
/// RUNS-DURING-CRASH.
@c(pm_write_crashing_thread_top) @_noLocks
func pm_write_crashing_thread_top(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  guard !capture.session.request.isHang else { return }
  capture.session.writer.startMap(.crashingThread)
  writeRegisters(capture)
  if let context = capture.session.exception.signal.context {
    StackTop(capture).write(context)
  }
  capture.session.writer.end()
}

/// The rest of the thread that crashed: what the kernel tells of it, the rest of its stack, and the
/// memory around its registers.
///
/// RUNS-DURING-CRASH.
@c(pm_write_crashing_thread) @_noLocks
func pm_write_crashing_thread(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  if capture.session.request.isHang {
    writeHungThread(capture)
    return
  }
  let thread = ThreadWriter(capture)
  capture.session.writer.startMap(.crashingThread)
  // Again, where the section that writes them was broken off.
  if capture.session.progress.abandoned & 1 &<< 20 != 0 { writeRegisters(capture) }
  thread.writeOwnStatus()
  if let context = capture.session.exception.signal.context {
    thread.writeStack(
      from: CrashedStack(capture).lowestAddress(context),
      limit: capture.installed.limits.crashingThreadStack,
      written: capture.session.writtenStack)
  }
  capture.session.writer.end()
  if let context = capture.session.exception.signal.context {
    writeMemory(capture, around: context)
  }
}

@_noLocks
private func writeRegisters(_ capture: Capture) {
  let thread = ThreadWriter(capture)
  thread.writeIdentity(threadID: capture.session.exception.threadID, method: 1)
  if let context = capture.session.exception.signal.context {
    capture.session.writer.unsigned(.blockedSignals, context.signalMask)
    thread.writeContext(context)
  }
  capture.session.writer.unsigned(.threadPointer, pm_thread_pointer())
}

/// The thread that hangs, which is not the one that captures.
@_noLocks
private func writeHungThread(_ capture: Capture) {
  guard let record = capture.session.threads.find(capture.session.exception.threadID),
    !record.status.isGone
  else { return }
  ThreadWriter(capture).writeThread(
    record, limit: capture.installed.limits.crashingThreadStack, as: .crashingThread)
  guard record.has(.stopped),
    let context = record.fields.context
  else { return }
  writeMemory(capture, around: context)
}

/// The memory that a context's registers point at.
@_noLocks
private func writeMemory(
  _ capture: Capture, around context: SignalContext
) {
  let thread = ThreadWriter(capture)
  let instruction = context.instructionPointer
  capture.session.writer.startArray(.memory)
  // Enough for the instructions before and behind it, at most in two pages.
  thread.writeRegion(instruction &- 256, count: 512)
  RegisterMemory(capture).write(context.generalRegisters)
  capture.session.writer.end()
}

/// Every other thread.
///
/// RUNS-DURING-CRASH.
@c(pm_write_threads) @_noLocks
func pm_write_threads(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  let thread = ThreadWriter(capture)
  capture.session.writer.startArray(.threads)
  var index = 0
  let count = capture.session.threads.count
  while index < count {
    let record = capture.session.threads[index]
    // A hung thread is written already.
    if !record.status.isGone && record.threadID != capture.session.exception.threadID {
      thread.writeThread(record, limit: capture.installed.limits.otherThreadStack)
    }
    index &+= 1
  }
  capture.session.writer.end()
}
