internal import CSignalSafe
internal import IntermediateDump

/// Makes the handler ready for another crash after a dump, because this one may be survived.
///
/// All of it before a previous handler is called: one that leaves by siglongjmp never comes back.
///
/// RUNS-DURING-CRASH, on the capturing thread.
@safe
struct Rearming {
  private let capture: Capture

  @_noLocks
  init(_ capture: Capture) {
    self.capture = capture
  }

  /// Lets the threads go, forgets this crash, and opens a new locked file; its owner is still the
  /// calling thread.
  @_noLocks
  func rearm() {
    ThreadStopper(capture).releaseAll()
    Survival(capture).remember()
    capture.session.runRecord.isFollowed = false
    DumpFile(capture).close()
    reset()
    guard capture.makes(CallBit.files) else {
      capture.session.files.isMissing = true
      return
    }
    takeSpares()
    let limit = FileSizeLimit(isRaised: capture.makes(CallBit.fileSizeLimit))
    if !DumpFile(capture).makeNew() { capture.session.files.isMissing = true }
    limit.restore()
  }

  /// Clears what belongs to one crash.
  @_noLocks
  func reset() {
    capture.session.landingPads.disarm()
    capture.session.threads.removeAll()
    capture.session.mappings.removeAll()
    capture.session.writer.restart(on: -1)
    capture.session.progress.abandoned = 0
    capture.session.counts.threadsReadFromKernel = 0
    capture.session.counts.threadsOmitted = 0
    capture.session.time.phase = .sections
    capture.session.time.isTicking = false
  }

  /// Holds two places in the descriptor table again, with the pending folder.
  @_noLocks
  private func takeSpares() {
    let folder = capture.session.files.folder.descriptor
    let first = HeldFile(Int32(truncatingIfNeeded: pm_duplicate(folder)))
    let second = Int32(truncatingIfNeeded: pm_duplicate(folder))
    capture.shared.spares = Shared.SpareDescriptors(
      first: first, second: HeldFile(second, identity: first.identity))
  }
}
