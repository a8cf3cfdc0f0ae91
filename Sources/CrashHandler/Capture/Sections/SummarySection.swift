internal import CSignalSafe
internal import IntermediateDump

/// Creates the lines of the crash summary, and the dump for the log.
///
/// The dump is in the writer's buffer, with the most important facts first, because what does not fit is cut off.
///
/// RUNS-DURING-CRASH.
@c(pm_write_summary) @_noLocks
func pm_write_summary(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  let contexts = capture.installed.isSanitized ? nil : capture.contextsOfThisThread()
  capture.writeException(isForLog: true)
  var lines = SummaryLines(capture)
  lines.appendCrash()
  lines.appendWork(contexts, termination: capture.session.runRecord.termination)
  // Without a dump, the mappings have not been read, or were read for an earlier crash, so they are read here.
  if !capture.session.result.hasFile || capture.session.mappings.count == 0 {
    unsafe pm_read_mappings(argument)
  }
  guard let context = capture.session.exception.signal.context else { return }
  capture.writeLogThread(context)
  capture.writeCxxException(typeLimit: 80, messageLimit: 480)
  capture.writeIdentity()
  capture.writeCrashTime()
  capture.writer.encoded(capture.installed.encoded.logged)
  capture.writer.startArray(.contexts)
  if let contexts { _ = capture.write(contexts, of: capture.session.exception.threadID) }
  capture.writer.end()
  lines.beginLast()
  capture.writePlace(context)
  lines.appendStack(context)
  lines.endLast()
}

/// Writes the facts of the crash that the dump for the log has in another form than the dump.
///
/// RUNS-DURING-CRASH.
extension Capture {
  fileprivate func writeLogThread(_ context: SignalContext) {
    writer.startMap(.crashingThread)
    writeRegisters(isForLog: true)
    ThreadWriter(self).writeOwnStatus(session.exception.threadID)
    // The limit leaves only the bounds of the stack.
    stacks.write(from: lowestStackAddress(context), threadPointer: pm_thread_pointer(), limit: 0)
    writer.end()
  }

  /// Writes the code at the instruction pointer and, for a fault, the mappings around the address.
  fileprivate func writePlace(_ context: SignalContext) {
    writer.startArray(.memory)
    writeCode(at: context, distance: 16)
    writer.end()
    let signal = session.exception.signal
    guard signal.isFault, let information = signal.information else { return }
    let index = session.mappings.index(endingAbove: information.faultAddress)
    writer.startArray(.mappings)
    for offset in Indices(3) { writeMapping(index &+ offset &- 1) }
    writer.end()
  }

  private func writeMapping(_ index: Int) {
    guard index >= 0, index < session.mappings.count else { return }
    writer.startMap(.mappingsChunk)
    writer.property(.mappingsText, session.mappings.line(of: session.mappings[index]))
    writer.end()
  }
}

/// Writes the summary's lines to descriptor 2, if it refers to the same file as at launch.
///
/// RUNS-DURING-CRASH.
@c(pm_write_standard_error) @_noLocks
func pm_write_standard_error(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  let summary = capture.installed.summary
  if summary.size > 0 { capture.appendPieces() }
  if capture.isStill(summary.standardError) { summary.write() }
}
