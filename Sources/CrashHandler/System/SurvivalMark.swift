internal import CSignalSafe
internal import IntermediateDump

/// The byte in the dump of a crash that was survived: what became of the process.
///
/// A dump is finished before it can be known whether the process lives on. So it says "a previous
/// handler runs now", in one byte whose place is remembered, and the first sign of life that leaves
/// no doubt writes "and the process went on" over it, if the file is still there.
///
/// RUNS-DURING-CRASH, on the capturing thread.
extension Capture {
  /// Says in the preceding dump that the process went on, if that is not said yet.
  @_noLocks
  func markWentOn() {
    if shared.survived.isOpen { mark(SurvivalOutcome.wentOn.code) }
  }

  /// Says in the preceding dump that its previous handler ends the process, where the caller, which ends
  /// it by exit or `_exit`, runs in that handler.
  ///
  /// Makes no system call where nothing was survived.
  @_noLocks
  func noteExitInHandler() {
    guard shared.survived.isOpen, shared.survived.thread == pm_gettid(), shared.isOwnProcess,
      isInPreviousHandler(pm_stack_pointer())
    else { return }
    mark(SurvivalOutcome.endedByHandler.code)
    shared.survived.isOpen = false
  }

  /// True if a stack pointer of the thread of the last crash is in that crash's previous handler.
  ///
  /// The frame of a handler that was left, by siglongjmp too, is overwritten by the next one's.
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

  /// Writes the byte over that of the preceding dump; a report that was made of it already is not
  /// changed.
  @_noLocks
  func mark(_ outcome: UInt64) {
    let offset = shared.survived.outcomeOffset
    guard offset > 0 else { return }
    let descriptor = unsafe openPendingFile(shared.survived.name)
    guard descriptor >= 0 else { return }
    var outcome = UInt8(truncatingIfNeeded: outcome)
    _ = unsafe pm_pwrite(descriptor, &outcome, 1, offset)
    _ = pm_close(descriptor)
  }
}
