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
