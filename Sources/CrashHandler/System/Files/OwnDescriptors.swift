internal import CSignalSafe
internal import IntermediateDump

/// Keeps a dump out of the program's files if a thread could not be stopped and opens, duplicates and closes
/// descriptors while the dump is written.
///
/// If the process ends by its crash, the capturing thread stops sharing the table of descriptors. Changes by other
/// threads no longer affect it, so a descriptor stays valid after it was checked. This cannot be undone, so a process
/// that may continue keeps sharing the table. There the file is checked before each flush, and a dump that has lost
/// its file is written again from its beginning. A write between a check and the flush, or in the middle of a
/// section, may still reach a file of the program.
///
/// RUNS-DURING-CRASH, on the capturing thread. Source: unshare(2), CLONE_FILES.
extension Capture {
  /// Unshares the descriptor table if the default action follows the dump, because that action uses no descriptors.
  ///
  /// A previous handler would still see descriptors as open that other threads have closed.
  @_noLocks
  func leaveDescriptorTable() {
    session.files.hasOwnDescriptors = false
    guard case .ends = session.exception.outcome, mayMake(CallBit.files),
      shared.previousActions[session.exception.signal.number].handler == SIG_DFL
    else { return }
    session.files.hasOwnDescriptors = pm_leave_descriptor_table() == 0
  }

  /// Checks that the descriptor still refers to the dump's file.
  @_noLocks @discardableResult
  func holdsDumpFile() -> Bool {
    switch session.progress.file {
    case .none: return true
    case .lost: return false
    case .open, .begun: break
    }
    guard !session.files.hasOwnDescriptors, !isSame(session.files.dump)
    else { return true }
    session.progress.file = .lost
    return false
  }

  /// Prepares a dump that has lost its file to be written again; false if it has not lost its file, or lost it too
  /// often.
  ///
  /// The threads stay stopped, and the mappings stay known.
  @_noLocks
  ///
  /// - Parameter kept: sections that write nothing, by bits.
  func beginDumpAgain(keeping kept: UInt64) -> Bool {
    guard session.progress.hasLostFile else { return false }
    // The number belongs to another file.
    session.files.dump.descriptor = -1
    session.result.hasFile = false
    session.result.failure = EBADF
    // The number of attempts is limited, because a thread may replace the file again and again.
    guard session.progress.timesBegunAgain < 3,
      !session.time.isCut, session.request.isRenamed
    else { return false }
    session.progress.beginAgain(keeping: kept)
    session.writer.restart(on: -1)
    session.counts.threadsReadFromKernel = 0
    return true
  }
}
