internal import CSignalSafe
internal import IntermediateDump

/// Takes the dump of a crash, on the handler's own stack.
///
/// RUNS-DURING-CRASH, on the capturing thread.
@c(pm_capture_crash) @_noLocks
func pm_capture_crash(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  capture.beginAnew()
  setFaultStack(capture)
  let limit = capture.installed.timeLimit
  let wantsSummary = SignalMask.has(
    capture.installed.summary.signals, capture.session.exception.signal.number)
  // A quarter of a second is kept for it, but no more than a quarter of the limit.
  let summaryTime = !wantsSummary ? 0 : limit < 1000 ? limit / 4 : 250
  capture.session.time.division = CaptureTime(limit: limit &- summaryTime)
  WatchdogTimer.aim(capture)
  arm(capture, milliseconds: capture.session.time.division.sections)
  OwnDescriptors(capture).take()
  closeSpares(capture)
  let fileSize = FileSizeLimit(capture)
  captureDump(capture)
  fileSize.restore()
  // Of hangs that this crash has overtaken.
  if capture.session.outcome.isComplete && capture.mayMake(CallBit.files) {
    SectionRunner(capture).run(.removeHangDumps)
  }
  writeSummary(capture, milliseconds: summaryTime)
  capture.session.resident.close(capture)
  arm(capture, milliseconds: 0)
}

/// Takes the dump, of a crash or without one.
@_noLocks
func captureDump(_ capture: Capture) {
  // A fault between two sections, or a write that hangs there, comes back to here; each time at
  // least one more section is behind us.
  var landings = 0
  while landings < 16 && !capture.session.time.isOver {
    if unsafe capture.session.landingPads.runDump(pm_write_dump, capture) != 0 {
      capture.session.progress.abandoned |= capture.session.progress.current
    } else if !OwnDescriptors(capture).beginAgain() {
      break
    }
    landings &+= 1
  }
  // Without a file it says already why there is none.
  if capture.session.outcome.hasFile {
    capture.session.outcome.failure = capture.session.writer.failure
  }
  // The sections that follow write elsewhere.
  capture.session.progress.file = .none
}

/// Writes the dump, or goes on with it after a landing.
///
/// RUNS-DURING-CRASH.
@c(pm_write_dump) @_noLocks
private func pm_write_dump(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  switch capture.session.progress.file {
  case .lost: return
  case .none:
    // A file that could not be checked is not written to, and a call that hung would hang again.
    guard !capture.session.time.isCut else { return }
    let isReady = DumpFile(capture).prepare()
    // Not before: /proc was opened again if its descriptor was closed.
    capture.session.resident.open(capture)
    guard isReady else { return }
    capture.session.progress.file = .open
    capture.session.outcome.hasFile = true
    writeBeginning(capture)
  case .open:
    recover(capture)
    writeBeginning(capture)
  case .begun: recover(capture)
  }
  let sections = SectionRunner(capture)
  var next = Section.first
  while let section = next, section.isOfDump {
    switch section {
    case .stopThreads: makeRoom(capture)
    case .writeCapture: beginFinish(capture)
    default: break
    }
    sections.run(section)
    next = section.next
  }
  guard OwnDescriptors(capture).check() && capture.session.writer.endDocument(),
    OwnDescriptors(capture).check()
  else { return }
  capture.session.outcome.isComplete = true
  let file = DumpFile(capture)
  if capture.session.request.isRenamed && capture.mayMake(CallBit.files) {
    capture.session.outcome.isRenamed = file.finish()
  }
  // Last: ext4 mounted with `discard` and without a journal waits here for the disk.
  file.releaseBlocks()
}

private func recover(_ capture: Capture) {
  capture.session.writer.recover()
  capture.session.writer.close(toDepth: 0)
}

/// Writes the tokens before all sections: the process, the time, and the crashes before.
private func writeBeginning(_ capture: Capture) {
  if capture.session.writer.size == 0 { capture.session.writer.header() }
  capture.session.writer.encoded(capture.installed.encoded.process)
  if capture.shared.process.isForkedChild || capture.session.names.areNew {
    writeIdentity(capture)
  }
  writeCrashTime(
    capture.calls, processStart: capture.shared.process.run.startTime, to: DumpOutput(capture))
  capture.session.request.write(
    withTexts: !capture.installed.isSanitized, to: &capture.session.writer)
  SurvivalRecord(capture).write()
  capture.session.progress.file = .begun
}

/// Finds how many threads there is memory for; where that is little, writes first by what frames have names.
private func makeRoom(_ capture: Capture) {
  let room = MemoryRoom(capture.installed.cgroup, capture.calls, capture.session.scratch)
  capture.session.counts.threadLimit = room.threads
  guard room.isShort else { return }
  let sections = SectionRunner(capture)
  sections.run(.readMappings)
  sections.run(.writeModules)
}

/// Begins the last part, which has a time of its own: a few system calls, and it says that the time
/// was over.
private func beginFinish(_ capture: Capture) {
  switch capture.session.time.phase {
  case .sections:
    capture.session.time.phase = .finish
    arm(capture, milliseconds: capture.session.time.division.finish)
  // It began with the tick that ended the sections' time.
  case .cut: capture.session.time.phase = .finish
  case .finish, .over: break
  }
}

extension Capture {
  /// Clears what an earlier crash, which the process survived, has left.
  fileprivate func beginAnew() {
    session.progress = Progress()
    session.time.phase = .sections
    session.time.isTicking = false
    session.hasFaultStack = false
    session.pages.removeAll()
    session.outcome = DumpOutcome()
    shared.timesReturned = 0
  }
}

/// Keeps the signals of faults and the watchdog's out, until `setFaultStack` lets them through.
///
/// Between leaving the alternate stack and that call the kernel would start at its top again, over
/// the frame of the signal that is handled: the dump had the registers of our own code, and
/// returning went there. Seen once in 4,000 crashes with the watchdog's signal sent from outside.
///
/// Not SIGSYS, whose handler stays on the stack that it finds: a filter may trap that call.
@_noLocks
func blockFaults(_ capture: Capture) {
  SignalMask.block(capture.installed.signals.capture & ~SignalMask.bit(SIGSYS))
}

/// Gives faults from here on a stack of their own, and lets them and the watchdog's signal through.
///
/// If the kernel refuses it, nothing that could raise a signal on this thread is done.
@_noLocks
func setFaultStack(_ capture: Capture) {
  var attempts = 0
  while attempts < 3 && capture.mayMake(CallBit.threads) {
    if capture.installed.faultStack.use() {
      capture.session.hasFaultStack = true
      break
    }
    attempts &+= 1
  }
  unblock(capture.installed.signals.capture)
}

/// Writes the summary to standard error, when the dump is done or could not be.
///
/// Not without the watchdog, which is what ends a write that hangs.
private func writeSummary(_ capture: Capture, milliseconds: Int) {
  guard milliseconds > 0, capture.session.time.timer >= 0, capture.session.hasFaultStack else {
    return
  }
  capture.session.time.phase = .finish
  arm(capture, milliseconds: milliseconds)
  var landings = 0
  while landings < 3 && !capture.session.time.isOver {
    if unsafe capture.session.landingPads.runDump(pm_write_summary_lines, capture) == 0 { return }
    landings &+= 1
  }
}

/// Runs the summary in two sections: a fault while the lines are put together leaves those before to
/// be written.
///
/// RUNS-DURING-CRASH.
@c(pm_write_summary_lines) @_noLocks
private func pm_write_summary_lines(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  // Closed, or another file by now: there is nobody to put them together for.
  guard capture.isSame(capture.installed.summary.standardError) else { return }
  let sections = SectionRunner(capture)
  sections.run(.writeSummary)
  sections.run(.writeStandardError)
}

/// Stops all threads; nothing is written.
///
/// RUNS-DURING-CRASH.
@c(pm_stop_threads) @_noLocks
func pm_stop_threads(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  ThreadStopper(capture).stopAll()
  capture.session.resident.forget()
}

/// Closes the descriptors held for /proc, if they still are ours.
private func closeSpares(_ capture: Capture) {
  guard capture.mayMake(CallBit.files) else { return }
  let spares = capture.shared.spares
  if capture.isSame(spares.first) { _ = pm_close(spares.first.descriptor) }
  if capture.isSame(spares.second) { _ = pm_close(spares.second.descriptor) }
  if capture.isSame(spares.third) { _ = pm_close(spares.third.descriptor) }
}

/// Writes report ID and process ID, in place of those encoded at launch: of another crash, or of a
/// forked child.
private func writeIdentity(_ capture: Capture) {
  capture.session.writer.startMap(.process)
  unsafe capture.session.writer.property(.reportID, capture.session.names.reportID, count: 16)
  capture.session.writer.unsigned(
    .processID, UInt64(UInt32(bitPattern: capture.shared.process.id)), width: 4)
  capture.session.writer.end()
}
