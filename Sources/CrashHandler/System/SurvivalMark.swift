internal import CSignalSafe
internal import IntermediateDump

/// Overwrites the byte in a survived crash's dump that shows whether and how the process continued.
///
/// A dump is finished before it is known whether the process continues. So at first, one byte of the dump means that a
/// previous handler is running. At the first certain sign of what happened to the process, the handler overwrites this
/// byte, if the file still exists.
///
/// RUNS-DURING-CRASH, on the capturing thread; `noteExitInHandler` runs on the thread that ends the process.
extension Capture {
  /// Notes in the dump of the last survived crash that the process continued, if this is not noted yet.
  @_noLocks
  func markWentOn() {
    if shared.survived.isOutcomeOpen { markOutcome(SurvivalOutcome.wentOn.code) }
  }

  /// Notes in the last survived crash's dump that the previous handler ends the process.
  ///
  /// This function is called when the process exits (`ExitNotes`), and does nothing unless the previous handler called
  /// `exit`, `quick_exit` or `_exit`.
  ///
  /// This function makes no system call if the process has not survived a crash.
  @_noLocks
  func noteExitInHandler() {
    guard shared.survived.isOutcomeOpen, shared.survived.thread == pm_gettid(), shared.isOwnProcess,
      isInPreviousHandler(pm_stack_pointer())
    else { return }
    markOutcome(SurvivalOutcome.endedByHandler.code)
    shared.survived.isOutcomeOpen = false
  }

  /// True if the stack pointer, on the thread of the last survived crash, shows that the previous handler is still
  /// running.
  ///
  /// After the thread has left that handler, even through siglongjmp, the frame of the next signal overwrites the
  /// crash's frame, which then contains other registers.
  @_noLocks
  func isInPreviousHandler(_ stackPointer: UInt64) -> Bool {
    let survived = shared.survived
    guard survived.context != 0, pm_is_readable(survived.context),
      let context = unsafe SignalContext(
        UnsafeMutableRawPointer(bitPattern: UInt(truncatingIfNeeded: survived.context)))
    else { return false }
    return context.isAbove(stackPointer) && context.stackPointer == survived.stackPointer
      && context.instructionPointer == survived.instructionPointer
  }

  /// Overwrites the byte for the outcome in the last survived crash's dump; a report that was already created from the
  /// dump does not change.
  @_noLocks
  func markOutcome(_ outcome: UInt64) {
    let offset = shared.survived.outcomeOffset
    guard offset > 0 else { return }
    let descriptor = unsafe openPendingFile(shared.survived.name)
    guard descriptor >= 0 else { return }
    var outcome = UInt8(truncatingIfNeeded: outcome)
    let writing = OwnWriting(raisesLimit: true)
    _ = unsafe pm_pwrite(descriptor, &outcome, 1, offset)
    writing.finish()
    _ = pm_close(descriptor)
  }
}
