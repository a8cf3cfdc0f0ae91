internal import CSignalSafe

/// Makes a forked child the program that goes on, as after daemon(3), whose parent exits: it gets what
/// `startHandler` gave its parent, a locked file with preallocated blocks, a FIFO, and a run record
/// that tells how it ends.
///
/// Another child has none of it before it crashes: most are short, and three files for each worker
/// of a server would be many. Under the rules of crash code, because the parent may have threads.
///
/// Source: pthread_atfork(3), daemon(3).
@c(pm_continue_run) @_noLocks
func pm_continue_run() {
  guard let capture = Capture.ofHandler else { return }
  guard OwnProcess(capture).become() && capture.shared.process.isForkedChild,
    capture.session.files.isMissing && capture.makes(CallBit.files)
  else { return }
  let writing = OwnWriting(capture, blocking: ~capture.installed.signals.open)
  let places = StandardPlaces()
  capture.session.runRecord.isFollowed = capture.installed.encoded.course.count > 0
  if !DumpFile(capture).prepare() { capture.session.runRecord.isFollowed = false }
  places.giveBack()
  writing.finish(hasFailed: true)
}

/// Keeps descriptors 0 to 2 from becoming files of ours: what the program then prints to "standard
/// error" would go into the dump.
///
/// RUNS-DURING-CRASH. Source: `StandardDescriptors`, which does it for `startHandler`.
private struct StandardPlaces {
  /// Those taken, by bits.
  private let taken: UInt32

  @_noLocks
  init() {
    let path = unsafe ProcFile.characters("/dev/null")
    var taken: UInt32 = 0
    while true {
      let descriptor = unsafe pm_openat(-100, path, 0x80000)  // AT_FDCWD, O_CLOEXEC
      guard descriptor >= 0 else { break }
      guard descriptor <= 2 else {
        _ = pm_close(Int32(truncatingIfNeeded: descriptor))
        break
      }
      taken |= 1 &<< UInt32(truncatingIfNeeded: descriptor)
    }
    self.taken = taken
  }

  @_noLocks
  func giveBack() {
    var descriptor: Int32 = 0
    while descriptor <= 2 {
      if taken &>> UInt32(bitPattern: descriptor) & 1 == 1 { _ = pm_close(descriptor) }
      descriptor &+= 1
    }
  }
}
