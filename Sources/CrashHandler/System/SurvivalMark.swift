internal import CSignalSafe
internal import IntermediateDump

/// The byte in the dump of a survived crash that says how the process continued.
///
/// A dump is finished before it is known whether the process continues. So one byte of the dump says that a previous
/// handler runs. The first certain sign that the process continues overwrites that byte, if the file still exists.
///
/// RUNS-DURING-CRASH, on the capturing thread.
extension Capture {
  /// Notes in the preceding dump that the process continued, if that is not noted yet.
  @_noLocks
  func markWentOn() {
    if shared.survived.isOpen { mark(SurvivalOutcome.wentOn.code) }
  }

  /// Notes in the preceding dump that its previous handler ends the process, if the caller, which calls exit or
  /// `_exit`, runs in that handler.
  ///
  /// Makes no system call if no crash was survived.
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

  /// Overwrites the byte of the preceding dump; a report that was already made from that dump does not change.
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
