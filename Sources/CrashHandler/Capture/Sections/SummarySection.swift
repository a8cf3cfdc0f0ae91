internal import CSignalSafe
internal import IntermediateDump

/// Creates the lines of the crash summary, and the dump for the log.
///
/// RUNS-DURING-CRASH.
@c(pm_write_summary) @_noLocks
func pm_write_summary(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  var lines = SummaryLines(capture)
  var pieces = LogPieces(capture)
  let contexts = capture.installed.isSanitized ? nil : capture.contextsOfThisThread()
  lines.appendCrash()
  lines.appendWork(contexts, termination: capture.session.runRecord.termination)
  // Without a dump, the mappings have not been read, or were read for an earlier crash, so they are read here.
  if !capture.session.result.hasFile || capture.session.mappings.count == 0 {
    unsafe pm_read_mappings(argument)
  }
  capture.writeLogFacts(contexts, to: &pieces)
  lines.beginLast()
  if let context = capture.session.exception.signal.context {
    pieces.appendStack(context, of: capture, to: &lines)
  }
  lines.endLast()
}

/// Writes the facts of the crash that a log has room for, the most important ones first.
///
/// RUNS-DURING-CRASH.
extension Capture {
  /// The maximum number of bytes of a message, and of the name of a C++ type.
  private static var messageLimit: Int { 480 }
  private static var typeLimit: Int { 80 }
  private static var mappingLimit: Int { 240 }

  fileprivate func writeLogFacts(_ contexts: ContextValue?, to pieces: inout LogPieces) {
    writer.startMap(.exception)
    writer.identifier(.exceptionThreadID, session.exception.threadID)
    writeSignal()
    if mayMake(CallBit.proc) { writeFaultPage() }
    writer.end()
    pieces.endPart()
    writeLogThread()
    pieces.endPart()
    if !installed.isSanitized {
      writeMessage(
        .fatalMessage, at: installed.runtime.fatalMessageBuffer, skipping: 0, to: &pieces)
      writeMessage(
        .abortMessage, at: installed.runtime.abortMessagePointer, skipping: 4, to: &pieces)
    }
    writeCxxException(typeLimit: Capture.typeLimit, messageLimit: Capture.messageLimit)
    pieces.endPart()
    writeIdentity()
    writeCrashTime()
    writer.encoded(installed.encoded.logged)
    pieces.endPart()
    if let context = session.exception.signal.context {
      writer.startArray(.memory)
      writeCode(at: context, distance: 16)
      writer.end()
      pieces.endPart()
      writeFaultMappings(context, to: &pieces)
    }
    if let contexts {
      writer.startArray(.contexts)
      _ = write(contexts, of: session.exception.threadID)
      writer.end()
      pieces.endPart()
    }
  }

  private func writeLogThread() {
    writer.startMap(.crashingThread)
    writeRegisters(isForLog: true)
    ThreadWriter(self).writeOwnStatus(session.exception.threadID)
    if let context = session.exception.signal.context {
      stacks.writeBounds(from: lowestStackAddress(context), threadPointer: pm_thread_pointer())
    }
    writer.end()
  }

  private func writeMessage(
    _ key: IntermediateDumpKey, at pointer: UInt64, skipping: UInt64, to pieces: inout LogPieces
  ) {
    writer.startMap(.exception)
    regions.writeText(key, atPointer: pointer, skipping: skipping, limit: Capture.messageLimit)
    writer.end()
    pieces.endPart()
  }

  /// Writes the mappings around the fault address of a memory fault, and that of the stack pointer.
  private func writeFaultMappings(_ context: SignalContext, to pieces: inout LogPieces) {
    let (signal, mappings) = (session.exception.signal, session.mappings)
    guard signal.isFault, signal.number == SIGSEGV || signal.number == SIGBUS,
      let information = signal.information
    else { return }
    let fault = mappings.index(endingAbove: information.faultAddress)
    let stack = mappings.index(endingAbove: context.stackPointer)
    writeMapping(fault &- 1, to: &pieces)
    writeMapping(fault, to: &pieces)
    if stack != fault { writeMapping(stack, to: &pieces) }
  }

  private func writeMapping(_ index: Int, to pieces: inout LogPieces) {
    guard index >= 0, index < session.mappings.count else { return }
    let line = session.mappings.line(of: session.mappings[index])
    guard line.count <= Capture.mappingLimit else { return }
    writer.startArray(.mappings)
    writer.startMap(.mappingsChunk)
    writer.property(.mappingsText, line)
    writer.end()
    writer.end()
    pieces.endPart()
  }
}

/// Writes the summary's lines to descriptor 2, if it refers to the same file as at launch.
///
/// RUNS-DURING-CRASH.
@c(pm_write_standard_error) @_noLocks
func pm_write_standard_error(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  let summary = capture.installed.summary
  capture.appendPieces()
  if capture.isSame(summary.standardError) { summary.write() }
}
