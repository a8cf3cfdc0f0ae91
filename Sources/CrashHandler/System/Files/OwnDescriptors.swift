internal import CSignalSafe
internal import IntermediateDump

/// Keeps a dump from being written into the program's files.
///
/// A dump could get into such a file if a thread that could not be stopped opens, duplicates and closes descriptors
/// while the dump is written.
///
/// If the crash ends the process, the capturing thread stops sharing the descriptor table with other threads. Other
/// threads can then no longer change the capturing thread's descriptors, so a checked descriptor stays valid.
/// Unsharing cannot be undone, so in a process that may continue, the table stays shared. In such a process, the file
/// is checked before each flush between sections, and a dump that has lost its file is written again from the
/// beginning, at most three times. Two cases remain in which bytes of the dump may reach one of the program's files:
/// the descriptor changes between a check and the flush, or the buffer fills up within a section, because the writer
/// then writes it without a check.
///
/// RUNS-DURING-CRASH, on the thread that takes the dump. Source: unshare(2), CLONE_FILES.
extension Capture {
  /// Stops sharing the descriptor table with other threads if the default action follows the dump, because that action
  /// uses no descriptors.
  ///
  /// The table stays shared if a previous handler runs later. Otherwise, that handler would have copies of the
  /// descriptors, which would stay open when other threads close theirs.
  @_noLocks
  func leaveDescriptorTable() {
    session.files.hasOwnDescriptors = false
    guard case .ends = session.exception.outcome, mayMake(CallBit.files),
      shared.previousActions[session.exception.signal.number].handler == SIG_DFL
    else { return }
    session.files.hasOwnDescriptors = pm_leave_descriptor_table() == 0
  }

  /// Returns false, and records the loss, if the descriptor no longer refers to the dump's file.
  @_noLocks @discardableResult
  func holdsDumpFile() -> Bool {
    switch session.progress.file {
    case .none: return true
    case .lost: return false
    case .open, .begun: break
    }
    guard !isStill(session.files.dump) else { return true }
    session.progress.file = .lost
    return false
  }

  /// After the dump has lost its file, prepares the dump to be written again; returns false if the dump still has its
  /// file, or may not be begun again.
  ///
  /// The threads stay stopped, and the mappings are not read again.
  ///
  /// - Parameter kept: the bits of sections that need not run again, because they write nothing.
  @_noLocks
  func beginDumpAgain(keeping kept: UInt64) -> Bool {
    guard session.progress.hasLostFile else { return false }
    // The descriptor may now refer to another file, so it is not used again.
    session.files.dump.descriptor = -1
    session.result.hasFile = false
    session.result.failure = EBADF
    // The number of attempts is limited, because a thread may replace the file again and again.
    guard session.progress.timesBegunAgain < 3,
      !session.time.isCut, session.request.isRenamed
    else { return false }
    session.progress.beginAgain(keeping: kept)
    writer.restart(on: -1)
    session.counts.threadsReadFromKernel = 0
    return true
  }
}
