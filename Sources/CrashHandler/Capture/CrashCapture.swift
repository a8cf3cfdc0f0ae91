internal import CSignalSafe
internal import IntermediateDump

/// Takes the dump, section by section, on the handler's own stack.
///
/// The order is that of worth: a dump torn anywhere has what matters most before the tear.
///
/// RUNS-DURING-CRASH, on the capturing thread.
@c(pm_capture_crash) @_noLocks
func pm_capture_crash(_ argument: UnsafeMutableRawPointer) {
  let state = unsafe argument.assumingMemoryBound(to: HandlerState.self)
  // A fault from here on gets a stack of its own; without this the kernel would start again at the
  // top of the alternate stack that the signal frame is on.
  _ = unsafe pm_set_signal_stack(state.pointee.faultStack, state.pointee.faultStackSize)
  let wordsTime = unsafe state.pointee.lastWords.time(
    of: state.pointee.timeLimit, for: state.pointee.signal)
  unsafe WatchdogTimer.arm(state.pointee.timer, milliseconds: state.pointee.timeLimit &- wordsTime)
  unsafe closeSpares(state)
  unsafe state.pointee.outcome = DumpOutcome()
  let limit = FileSizeLimit()
  if unsafe DumpFile(state).prepare() { unsafe writeDump(state) }
  limit.restore()
  unsafe writeLastWords(state, milliseconds: wordsTime)
  unsafe WatchdogTimer.arm(state.pointee.timer, milliseconds: 0)
}

/// The dump itself, into the file that is ready.
@_noLocks
func writeDump(_ state: UnsafeMutablePointer<HandlerState>) {
  unsafe state.pointee.outcome.hasFile = true
  let sections = unsafe SectionRunner(state)
  unsafe state.pointee.writer.header()
  unsafe state.pointee.writer.encoded(
    state.pointee.encodedProcess, count: state.pointee.encodedProcessCount)
  if unsafe state.pointee.isForkedChild || state.pointee.hasNewReportID {
    unsafe writeIdentity(state)
  }
  unsafe state.pointee.request.write(to: &state.pointee.writer)
  unsafe Survival(state).write()
  unsafe sections.run(1, pm_write_exception)
  unsafe sections.run(2, pm_stop_threads)
  unsafe sections.run(3, pm_read_mappings)
  unsafe sections.run(4, pm_write_crashing_thread)
  unsafe sections.run(5, pm_write_process)
  unsafe sections.run(6, pm_write_mappings)
  unsafe sections.run(7, pm_write_modules)
  unsafe sections.run(8, pm_write_facts)
  unsafe sections.run(9, pm_write_threads)
  unsafe sections.run(11, pm_write_resources)
  unsafe sections.run(12, pm_write_link_map)
  // The rest is a few system calls, and says that the time was over.
  unsafe WatchdogTimer.arm(state.pointee.timer, milliseconds: 0)
  unsafe state.pointee.isOutOfTime = false
  unsafe sections.run(10, pm_write_capture)
  if unsafe state.pointee.writer.endDocument() {
    unsafe state.pointee.outcome.isComplete = true
    guard unsafe state.pointee.request.isRenamed else { return }
    // The suffix is the whole lock; a dump that keeps it because this failed is complete by its end
    // mark.
    let renamed = unsafe pm_rename(
      state.pointee.folderDescriptor, state.pointee.lockedName, state.pointee.finishedName)
    unsafe state.pointee.outcome.isRenamed = renamed == 0
    if unsafe state.pointee.request.kind == .crash { unsafe sections.run(15, pm_remove_hang_dumps) }
  }
  unsafe state.pointee.outcome.failure = state.pointee.writer.failure
}

/// The last words, on standard error, when the dump is done or could not be.
///
/// In two sections: one that faults while the lines are put together leaves those before to be
/// written. Not without the watchdog, which is what ends a write that hangs.
@_noLocks
private func writeLastWords(_ state: UnsafeMutablePointer<HandlerState>, milliseconds: Int) {
  guard unsafe milliseconds > 0 && state.pointee.timer >= 0 else { return }
  unsafe WatchdogTimer.arm(state.pointee.timer, milliseconds: milliseconds)
  unsafe state.pointee.isOutOfTime = false
  let sections = unsafe SectionRunner(state)
  unsafe sections.run(13, pm_write_last_words)
  unsafe sections.run(14, pm_write_standard_error)
}

/// Stops all threads; nothing is written.
///
/// RUNS-DURING-CRASH.
@c(pm_stop_threads) @_noLocks
private func pm_stop_threads(_ argument: UnsafeMutableRawPointer) {
  let state = unsafe argument.assumingMemoryBound(to: HandlerState.self)
  unsafe ThreadStopper(state).stopAll()
}

/// Gives the descriptors held for /proc back, those that still are ours.
@_noLocks
private func closeSpares(_ state: UnsafeMutablePointer<HandlerState>) {
  let spares = unsafe state.pointee.spareDescriptors
  let identity = unsafe state.pointee.spareIdentity
  if identity.isOf(spares.0, linked: false) { _ = pm_close(spares.0) }
  if identity.isOf(spares.1, linked: false) { _ = pm_close(spares.1) }
}

/// The report ID and process ID, over those that were encoded at install: another crash's, or a
/// forked child's.
@_noLocks
private func writeIdentity(_ state: UnsafeMutablePointer<HandlerState>) {
  unsafe state.pointee.writer.startMap(.process)
  unsafe state.pointee.writer.property(.reportID, state.pointee.reportID, count: 16)
  unsafe state.pointee.writer.unsigned(
    .processID, UInt64(UInt32(bitPattern: state.pointee.processID)), width: 4)
  unsafe state.pointee.writer.end()
}
