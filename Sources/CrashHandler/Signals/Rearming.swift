internal import CSignalSafe
internal import IntermediateDump

/// Prepares the handler for another crash, because the process may survive the crash whose dump is now finished.
///
/// The handler is rearmed before the previous handler is called, because the previous handler may leave through
/// siglongjmp and never return. Swift's backtracer always returns, so the handler is rearmed after the backtracer
/// (`runBacktracer`).
///
/// RUNS-DURING-CRASH, on the capturing thread.
extension Capture {
  /// Releases the stopped threads, copies this crash to `shared.survived`, resets the session, and creates files for
  /// the next dump.
  ///
  /// After this call, the calling thread is still the capturing thread. `session.exception` is not reset, because
  /// `chain` still needs it.
  @_noLocks
  func rearm() {
    releaseThreads()
    rememberCrash()
    session.runRecord.isFollowed = false
    closeDumpFile()
    session.reset()
    session.files.isMissing = true
    guard mayMake(CallBit.files) else { return }
    takeSpareDescriptors()
    let limit = FileSizeLimit(isRaised: true)
    _ = makeNewDumpFile()
    limit.restore()
  }

  /// Stores this crash as the last crash that the process may survive, with the name of the dump and the address of the
  /// signal frame.
  ///
  /// This function does nothing if the crash's dump has no byte for the outcome, for example because no dump was
  /// written.
  private func rememberCrash() {
    guard session.exception.outcomeOffset > 0 else { return }
    shared.survived.count &+= 1
    shared.survived.outcomeOffset = session.exception.outcomeOffset
    // If the kernel discards the signal, the process certainly continues, so the outcome in the dump is final.
    if case .discarded = session.exception.outcome {
      shared.survived.isOutcomeOpen = false
    } else {
      shared.survived.isOutcomeOpen = true
    }
    shared.survived.thread = session.exception.threadID
    let context = session.exception.signal.context
    shared.survived.context = context?.number ?? 0
    shared.survived.instructionPointer = context?.instructionPointer ?? 0
    shared.survived.stackPointer = context?.stackPointer ?? 0
    shared.survived.handlerHasReturned = false
    noteAbort()
    unsafe pm_copy_bytes(shared.survived.report, session.names.reportID, 16)
    unsafe pm_copy_bytes(
      shared.survived.name, session.names.finished,
      session.names.reportIDOffset &+ DumpNames.reportIDLength)
  }

  /// Reserves three slots in the descriptor table again, by duplicating the pending directory's descriptor.
  private func takeSpareDescriptors() {
    let directory = session.files.directory.descriptor
    let first = hold(pm_duplicate(directory))
    shared.spares.first = first
    shared.spares.second = HeldFile(pm_duplicate(directory), identity: first.identity)
    shared.spares.third = HeldFile(pm_duplicate(directory), identity: first.identity)
  }
}
