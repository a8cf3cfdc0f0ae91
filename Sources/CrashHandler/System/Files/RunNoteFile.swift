internal import CSignalSafe
internal import IntermediateDump
internal import PendingDumps

/// Writes notes into the run record beside the handler's locked file: that the process ends by its
/// own will, or which signal asks it to end.
///
/// One write each, in the middle of the file. Nothing in a child, unless its run is followed: the
/// record is its parent's.
///
/// RUNS-DURING-CRASH: signal handlers and `_exit` call it, the latter also in children of vfork.
@safe
struct RunNoteFile {
  private let capture: Capture

  @_noLocks
  init(_ capture: Capture) {
    self.capture = capture
  }

  /// True in the process whose run is followed.
  var isOurs: Bool {
    @_noLocks get { capture.session.runRecord.isFollowed && OwnProcess(capture).isCurrent }
  }

  /// Notes that the process ends by its own will.
  ///
  /// Removes the record where that cannot be written: without one the run has no verdict.
  @_noLocks
  func noteEnd(_ end: NotedEnd) {
    removeHangDumps()
    guard isOurs else { return }
    var value = end.code
    if unsafe write(&value, 4, at: RunNotes.offset) { return }
    let directory = openDirectory()
    _ = unsafe pm_unlink(directory, capture.session.names.runRecord)
    close(directory)
  }

  /// The watch of these hangs was stopped: an end by the process's own will leaves no report of them.
  private func removeHangDumps() {
    guard
      !capture.shared.process.isForkedChild && pm_getpid() == capture.shared.process.id
        && capture.mayMake(CallBit.files)
    else { return }
    let dumps = capture.shared.hangDumps
    var index = 0
    while index < HangDumps.capacity {
      if dumps.expectsExit(index) {
        let directory = openDirectory()
        dumps.removeFiles(index, directory: directory)
        close(directory)
      }
      index &+= 1
    }
  }

  /// Notes the first signal that asks the process to end.
  @_noLocks
  func noteTermination(_ signal: Int32, reaction: NotedReaction) {
    guard isOurs && !capture.session.runRecord.hasTermination else { return }
    capture.session.runRecord.hasTermination = true
    var note = (UInt32(bitPattern: signal), reaction.code, capture.wallClock)
    _ = unsafe write(&note, 16, at: RunNotes.offset &+ RunNotes.terminationOffset)
  }

  /// Writes to the record, also where the program has closed our descriptor, lowered the limit of
  /// file sizes, or used up its descriptors.
  @_noLocks
  func write(_ bytes: UnsafeRawPointer, _ count: Int, at offset: Int64) -> Bool {
    let writing = OwnWriting(capture, blocking: OwnWriting.fileSizeSignal)
    var result = -1
    if capture.isSame(capture.session.runRecord.file) {
      result = unsafe pm_pwrite(capture.session.runRecord.file.descriptor, bytes, count, offset)
    } else {
      let directory = openDirectory()
      let descriptor = unsafe Int32(
        truncatingIfNeeded: pm_openat(
          directory, capture.session.names.runRecord, DumpFile.writeOnly))
      if descriptor >= 0 {
        result = unsafe pm_pwrite(descriptor, bytes, count, offset)
        _ = pm_close(descriptor)
      }
      close(directory)
    }
    writing.finish(hasFailed: result == -Int(EFBIG))
    return result == count
  }

  /// The pending directory's descriptor, opened again where the program has closed ours.
  private func openDirectory() -> Int32 {
    let directory = capture.session.files.directory
    if capture.isSame(directory, linked: true) { return directory.descriptor }
    let opened = unsafe HeldFile(
      DumpFile(capture).openDirectory(capture.installed.paths.directory),
      identity: directory.identity)
    if capture.isSame(opened, linked: true) { return opened.descriptor }
    if opened.descriptor >= 0 { _ = pm_close(opened.descriptor) }
    return -1
  }

  private func close(_ directory: Int32) {
    if directory >= 0 && directory != capture.session.files.directory.descriptor {
      _ = pm_close(directory)
    }
  }
}

/// Called first by `_exit`; see `pm_process_end.h`.
@c(pm_note_process_end) @_noLocks
func pm_note_process_end() {
  guard let capture = Capture.ofHandler else { return }
  EndingThread(capture).waitForCapture()
  RunNoteFile(capture).noteEnd(.immediateExit)
}
