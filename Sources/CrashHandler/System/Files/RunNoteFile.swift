internal import CSignalSafe
internal import IntermediateDump
internal import PendingDumps

/// Writes notes into the run record: that the process exits, or which signal asks the process to end.
///
/// Each note is one write at a fixed offset in the file. A forked child writes no note until it has its own run record,
/// because the record that it inherits belongs to its parent.
///
/// RUNS-DURING-CRASH: signal handlers and `_exit` write notes, and `_exit` may be called in a child of vfork.
extension Capture {
  /// True if the calling process records in its own run record how it ends.
  var followsRun: Bool { @_noLocks get { session.runRecord.isFollowed && shared.isOwnProcess } }

  /// Notes that the process exits.
  ///
  /// If the note cannot be written, the record is removed: a missing report on the process's end does less harm than a
  /// wrong report.
  @_noLocks
  func noteRunEnd(_ end: NotedEnd) {
    removeExpectedHangDumps()
    guard followsRun else { return }
    var value = end.code
    if unsafe writeRunNote(&value, 4, at: RunNotePlace.offset) { return }
    let directory = openRunDirectory()
    _ = unsafe pm_unlink(directory, session.names.runRecord)
    closeRunDirectory(directory)
  }

  /// Takes back the note that the process exits.
  @_noLocks
  func forgetRunEnd() {
    guard followsRun else { return }
    var none: UInt32 = 0
    _ = unsafe writeRunNote(&none, 4, at: RunNotePlace.offset)
  }

  /// Removes the hang dumps for which `HangDump.expectExit` was called (state 3 of `HangDumps.Entry`).
  ///
  /// No report is created from such a dump.
  private func removeExpectedHangDumps() {
    guard
      !shared.process.isForkedChild && pm_getpid() == shared.process.id
        && mayMake(CallBit.files)
    else { return }
    let dumps = shared.hangDumps
    for index in Indices(HangDumps.capacity) {
      if dumps.expectsExit(index) {
        let directory = openRunDirectory()
        dumps.removeFiles(index, directory: directory)
        closeRunDirectory(directory)
      }
    }
  }

  /// Notes in the run record the first signal that asks the process to end; later such signals are not noted.
  @_noLocks
  func noteTermination(_ signal: Int32, reaction: NotedReaction) {
    guard followsRun && session.runRecord.termination == 0 else { return }
    session.runRecord.termination = signal
    var note = (UInt32(bitPattern: signal), reaction.code, wallClock)
    _ = unsafe writeRunNote(&note, 16, at: RunNotePlace.offset &+ RunNotePlace.terminationOffset)
  }

  /// Writes to the run record, even if the program has closed the handler's descriptor, lowered the limit on file
  /// sizes, or used up its descriptors.
  @_noLocks
  func writeRunNote(_ bytes: UnsafeRawPointer, _ count: Int, at offset: Int64) -> Bool {
    let writing = OwnWriting(raisesLimit: mayMake(CallBit.files))
    var result = -1
    if isSame(session.runRecord.file) {
      result = unsafe pm_pwrite(session.runRecord.file.descriptor, bytes, count, offset)
    } else {
      let directory = openRunDirectory()
      let descriptor = unsafe pm_openat(
        directory, session.names.runRecord, DumpFile.writeOnly)
      if descriptor >= 0 {
        result = unsafe pm_pwrite(descriptor, bytes, count, offset)
        _ = pm_close(descriptor)
      }
      closeRunDirectory(directory)
    }
    writing.finish()
    return result == count
  }

  /// Returns the pending directory's descriptor; opens the directory again if the program has closed the descriptor.
  private func openRunDirectory() -> Int32 {
    let directory = session.files.directory
    if isSame(directory, linked: true) { return directory.descriptor }
    let opened = unsafe HeldFile(
      openDirectory(installed.paths.directory),
      identity: directory.identity)
    if isSame(opened, linked: true) { return opened.descriptor }
    if opened.descriptor >= 0 { _ = pm_close(opened.descriptor) }
    return -1
  }

  private func closeRunDirectory(_ directory: Int32) {
    if directory >= 0 && directory != session.files.directory.descriptor {
      _ = pm_close(directory)
    }
  }
}
