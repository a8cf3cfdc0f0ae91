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
  unsafe beginAnew(state)
  unsafe setFaultStack(state)
  let wordsTime = unsafe state.pointee.lastWords.time(
    of: state.pointee.timeLimit, for: state.pointee.signal)
  unsafe state.pointee.captureTime = CaptureTime(limit: state.pointee.timeLimit &- wordsTime)
  unsafe arm(state, milliseconds: state.pointee.captureTime.sections)
  unsafe OwnDescriptors(state).take()
  unsafe closeSpares(state)
  let limit = unsafe FileSizeLimit(isRaised: state.pointee.makes(CallBit.fileSizeLimit))
  unsafe captureDump(state)
  limit.restore()
  unsafe removeHangDumps(state)
  unsafe writeLastWords(state, milliseconds: wordsTime)
  unsafe arm(state, milliseconds: 0)
}

/// The dump, of a crash or without one.
@_noLocks
func captureDump(_ state: UnsafeMutablePointer<HandlerState>) {
  // A fault between two sections, or a write that hangs there, comes back to here; each time at
  // least one more section is behind us.
  var landings = 0
  while unsafe landings < 16 && !state.pointee.isOver {
    let result = unsafe pm_run_section(
      state.pointee.landingPads + 2, pm_write_dump, UnsafeMutableRawPointer(state))
    if result != 0 {
      unsafe state.pointee.sectionsAbandoned |= state.pointee.currentSection
    } else if unsafe !OwnDescriptors(state).beginAgain() {
      break
    }
    landings &+= 1
  }
  // Without a file it says already why there is none.
  if unsafe state.pointee.outcome.hasFile {
    unsafe state.pointee.outcome.failure = state.pointee.writer.failure
  }
  // The sections that follow write elsewhere.
  unsafe state.pointee.isPrepared = false
  unsafe state.pointee.hasLostFile = false
}

/// Removes the dumps of hangs that this crash has overtaken, if its own is whole.
@_noLocks
private func removeHangDumps(_ state: UnsafeMutablePointer<HandlerState>) {
  guard unsafe state.pointee.outcome.isComplete && state.pointee.makes(CallBit.files) else {
    return
  }
  unsafe SectionRunner(state).run(15, pm_remove_hang_dumps)
}

/// Writes the dump, or goes on with it after what came back from it.
///
/// RUNS-DURING-CRASH.
@c(pm_write_dump) @_noLocks
private func pm_write_dump(_ argument: UnsafeMutableRawPointer) {
  let state = unsafe argument.assumingMemoryBound(to: HandlerState.self)
  let sections = unsafe SectionRunner(state)
  if unsafe state.pointee.hasLostFile { return }
  if unsafe !state.pointee.isPrepared {
    // A file that could not be checked is not written to, and a call that hung would hang again.
    guard unsafe !state.pointee.isOutOfTime && DumpFile(state).prepare() else { return }
    unsafe state.pointee.isPrepared = true
    unsafe state.pointee.outcome.hasFile = true
  } else {
    unsafe state.pointee.writer.recover()
    unsafe state.pointee.writer.close(toDepth: 0)
  }
  if unsafe !state.pointee.isBegun {
    if unsafe state.pointee.writer.size == 0 { unsafe state.pointee.writer.header() }
    unsafe state.pointee.writer.encoded(
      state.pointee.encodedProcess, count: state.pointee.encodedProcessCount)
    if unsafe state.pointee.isForkedChild || state.pointee.hasNewReportID {
      unsafe writeIdentity(state)
    }
    unsafe writeCrashTime(state)
    unsafe state.pointee.request.write(to: &state.pointee.writer)
    unsafe Survival(state).write()
    unsafe state.pointee.isBegun = true
  }
  // Before anything that takes time, for the process may be killed meanwhile or end itself, and both
  // in one write: a dump that says what happened says where.
  unsafe sections.run(1, flushes: false, pm_write_exception)
  unsafe sections.run(20, pm_write_crashing_thread_top)
  unsafe sections.run(2, pm_stop_threads)
  unsafe sections.run(3, pm_read_mappings)
  unsafe sections.run(5, pm_write_process)
  unsafe sections.run(6, pm_write_mappings)
  unsafe sections.run(7, pm_write_modules)
  unsafe sections.run(4, pm_write_crashing_thread)
  unsafe sections.run(18, pm_write_cxx_exception)
  unsafe sections.run(8, pm_write_facts)
  unsafe sections.run(16, pm_write_client)
  unsafe sections.run(19, pm_write_tasks)
  unsafe sections.run(9, pm_write_threads)
  unsafe sections.run(17, pm_write_extra_memory)
  unsafe sections.run(11, pm_write_resources)
  unsafe sections.run(12, pm_write_link_map)
  // The rest is a few system calls, and says that the time was over; it has a time of its own.
  if unsafe !state.pointee.isFinishing {
    unsafe state.pointee.isFinishing = true
    // If the time of the sections was over, this one runs already.
    if unsafe !state.pointee.isOutOfTime {
      unsafe arm(state, milliseconds: state.pointee.captureTime.finish)
    }
    unsafe state.pointee.isOutOfTime = false
  }
  unsafe sections.run(10, pm_write_capture)
  guard unsafe OwnDescriptors(state).check() && state.pointee.writer.endDocument(),
    unsafe OwnDescriptors(state).check()
  else { return }
  unsafe state.pointee.outcome.isComplete = true
  guard unsafe state.pointee.request.isRenamed && state.pointee.makes(CallBit.rename) else {
    return
  }
  unsafe state.pointee.outcome.isRenamed = DumpFile(state).finish()
}

/// Nothing of an earlier crash, which the process survived, is left.
@_noLocks
private func beginAnew(_ state: UnsafeMutablePointer<HandlerState>) {
  unsafe state.pointee.sectionsBegun = 0
  unsafe state.pointee.sectionsAbandoned = 0
  unsafe state.pointee.currentSection = 0
  unsafe state.pointee.isPrepared = false
  unsafe state.pointee.isBegun = false
  unsafe state.pointee.hasLostFile = false
  unsafe state.pointee.timesBegunAgain = 0
  unsafe state.pointee.isOutOfTime = false
  unsafe state.pointee.isFinishing = false
  unsafe state.pointee.isOver = false
  unsafe state.pointee.hasFaultStack = false
  unsafe state.pointee.stackTop = WrittenStack()
  unsafe state.pointee.isTicking = false
  unsafe state.pointee.timesReturned = 0
  unsafe state.pointee.outcome = DumpOutcome()
}

/// How the time is divided: three quarters for the sections, the rest for the end.
///
/// RUNS-DURING-CRASH.
struct CaptureTime {
  /// In milliseconds.
  let sections: Int
  let finish: Int

  @_noLocks
  init(limit: Int) {
    finish = limit >= 4 ? limit / 4 : 1
    sections = limit &- finish > 0 ? limit &- finish : 1
  }
}

/// A fault from here on gets a stack of its own; without this the kernel would start again at the
/// top of the alternate stack that the signal frame is on.
///
/// Where it is refused, nothing that could raise a signal on this thread is done.
@_noLocks
private func setFaultStack(_ state: UnsafeMutablePointer<HandlerState>) {
  var attempts = 0
  while unsafe attempts < 3 && state.pointee.makes(CallBit.faultStack) {
    if unsafe pm_set_signal_stack(state.pointee.faultStack, state.pointee.faultStackSize) == 0 {
      unsafe state.pointee.hasFaultStack = true
      return
    }
    attempts &+= 1
  }
}

/// The last words, on standard error, when the dump is done or could not be.
///
/// Not without the watchdog, which is what ends a write that hangs.
@_noLocks
private func writeLastWords(_ state: UnsafeMutablePointer<HandlerState>, milliseconds: Int) {
  guard unsafe milliseconds > 0 && state.pointee.timer >= 0 && state.pointee.hasFaultStack else {
    return
  }
  unsafe state.pointee.isFinishing = true
  unsafe state.pointee.isOutOfTime = false
  unsafe state.pointee.isOver = false
  unsafe arm(state, milliseconds: milliseconds)
  var landings = 0
  while unsafe landings < 3 && !state.pointee.isOver {
    let result = unsafe pm_run_section(
      state.pointee.landingPads + 2, pm_write_words, UnsafeMutableRawPointer(state))
    if result == 0 { return }
    landings &+= 1
  }
}

/// In two sections: one that faults while the lines are put together leaves those before to be
/// written.
///
/// RUNS-DURING-CRASH.
@c(pm_write_words) @_noLocks
private func pm_write_words(_ argument: UnsafeMutableRawPointer) {
  let state = unsafe argument.assumingMemoryBound(to: HandlerState.self)
  // Closed, or another file by now: there is nobody to put them together for.
  guard unsafe state.pointee.isSame(state.pointee.lastWords.standardError, 2) else { return }
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
  guard unsafe state.pointee.makes(CallBit.files) else { return }
  let spares = unsafe state.pointee.spareDescriptors
  let identity = unsafe state.pointee.spareIdentity
  if unsafe state.pointee.isSame(identity, spares.0) { _ = pm_close(spares.0) }
  if unsafe state.pointee.isSame(identity, spares.1) { _ = pm_close(spares.1) }
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
