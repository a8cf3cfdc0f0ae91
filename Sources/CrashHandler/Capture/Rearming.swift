internal import CSignalSafe
internal import IntermediateDump

/// Makes the handler ready for another crash after a dump, because this one may be survived.
///
/// All of it before a previous handler is called: one that leaves by siglongjmp never comes back.
///
/// RUNS-DURING-CRASH, on the capturing thread.
@safe
struct Rearming {
  private let state: UnsafeMutablePointer<HandlerState>

  @_noLocks
  init(_ state: UnsafeMutablePointer<HandlerState>) {
    unsafe self.state = state
  }

  /// Lets the threads go, forgets this crash, and opens a new locked file; its owner is still the
  /// calling thread.
  @_noLocks
  func rearm() {
    unsafe ThreadStopper(state).releaseAll()
    unsafe Survival(state).remember()
    unsafe state.pointee.followsRun = false
    unsafe DumpFile(state).close()
    reset()
    guard unsafe state.pointee.makes(CallBit.files) else {
      unsafe state.pointee.needsFile = true
      return
    }
    takeSpares()
    let limit = unsafe FileSizeLimit(isRaised: state.pointee.makes(CallBit.fileSizeLimit))
    if unsafe !DumpFile(state).makeNew() { unsafe state.pointee.needsFile = true }
    limit.restore()
  }

  /// Clears what belongs to one crash.
  @_noLocks
  func reset() {
    unsafe state.pointee.landingPads[0].armed = 0
    unsafe state.pointee.landingPads[1].armed = 0
    unsafe state.pointee.landingPads[2].armed = 0
    unsafe state.pointee.threads.removeAll()
    unsafe state.pointee.mappings.removeAll()
    unsafe state.pointee.writer.restart(on: -1)
    unsafe state.pointee.sectionsAbandoned = 0
    unsafe state.pointee.threadsReadFromKernel = 0
    unsafe state.pointee.threadsOmitted = 0
    unsafe state.pointee.isOutOfTime = false
    unsafe state.pointee.isTicking = false
  }

  /// Holds two places in the descriptor table again, with the pending folder.
  @_noLocks
  private func takeSpares() {
    let folder = unsafe state.pointee.folderDescriptor
    unsafe state.pointee.spareDescriptors = (
      Int32(truncatingIfNeeded: pm_duplicate(folder)),
      Int32(truncatingIfNeeded: pm_duplicate(folder))
    )
    unsafe state.pointee.spareIdentity = FileIdentity(of: state.pointee.spareDescriptors.0)
  }
}
