internal import CSignalSafe
internal import IntermediateDump

/// Takes the dump of a crash, on the handler's own stack.
///
/// RUNS-DURING-CRASH, on the capturing thread.
@c(pm_capture_crash) @_noLocks
func pm_capture_crash(_ argument: UnsafeMutableRawPointer) {
  unsafe Capture(argument).captureCrash()
}

extension Capture {
  fileprivate func captureCrash() {
    session.begin()
    shared.timesReraised = 0
    aimTimer()
    setFaultStack()
    let limit = installed.timeLimit
    let wantsSummary = SignalMask.has(
      installed.summary.signals, session.exception.signal.number)
    // The summary gets 250 ms of the time limit, or a quarter of the limit if that is less.
    let summaryTime = !wantsSummary ? 0 : limit < 1000 ? limit / 4 : 250
    session.time.division = CaptureTime(limit: limit &- summaryTime)
    armTimer(milliseconds: session.time.division.sections)
    leaveDescriptorTable()
    closeSpareDescriptors()
    let fileSize = FileSizeLimit(isRaised: mayMake(CallBit.files))
    writeDump()
    fileSize.restore()
    // Removes the dumps of hangs, because this crash's dump replaces them.
    if session.result.isComplete && mayMake(CallBit.files) { run(.removeHangDumps) }
    writeSummary(milliseconds: summaryTime)
    closeResidentPages()
    // Otherwise, the timer also limits the time that the process takes to end (`endProcess`).
    if !session.endsWithoutHandler { disarmTimer() }
  }

  /// Closes the descriptors that the handler holds as placeholders, to free descriptor numbers for files in /proc.
  ///
  /// A placeholder that now refers to another file stays open, because that file belongs to the program.
  private func closeSpareDescriptors() {
    guard mayMake(CallBit.files) else { return }
    let spares = shared.spares
    close(spares.first)
    close(spares.second)
    close(spares.third)
  }

  /// Writes the summary to standard error, after the dump is complete or has failed.
  ///
  /// Without the watchdog, nothing is written, because only the watchdog can end a write that hangs.
  private func writeSummary(milliseconds: Int) {
    guard milliseconds > 0, session.time.timer >= 0, session.hasFaultStack else { return }
    session.time.phase = .finish
    armTimer(milliseconds: milliseconds)
    for _ in Indices(3) where !session.time.isOver {
      if unsafe pm_run_section(
        session.recoveryPoints.dump, pm_write_summary_lines, argument) == 0
      {
        return
      }
    }
  }
}

/// Runs two sections: the first creates the lines of the summary, and the second writes them.
///
/// If a fault interrupts the first section, the lines that were created before the fault are still written.
///
/// RUNS-DURING-CRASH.
@c(pm_write_summary_lines) @_noLocks
private func pm_write_summary_lines(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  // If standard error was closed or now refers to another file, no summary is created, because that file may contain
  // the program's data.
  guard capture.isSame(capture.installed.summary.standardError) else { return }
  capture.writer.restart(on: -1)
  capture.run(.writeSummary)
  capture.run(.writeStandardError)
}
