internal import CSignalSafe
internal import IntermediateDump

/// Keeps a dump out of the files of a program whose thread could not be stopped, and goes on opening,
/// duplicating and closing descriptors while the dump is written.
///
/// Where the process ends by its crash, the capturing thread leaves the common table of descriptors:
/// what others do to theirs no longer reaches it, so that a descriptor which is ours when it is
/// checked stays so. There is no way back, so a process that may live on keeps the common table.
/// There the file is checked before what a section wrote is flushed, and a dump that has lost its
/// file is written again from its beginning. What falls between a check and its write, or is written
/// in the middle of a section, may still get into a file of the program's.
///
/// RUNS-DURING-CRASH, on the capturing thread. Source: unshare(2), CLONE_FILES.
@safe
struct OwnDescriptors {
  /// How often a dump is begun again: against a thread that does nothing else it is lost.
  private static var limit: UInt8 { @_noLocks get { 3 } }

  private let state: UnsafeMutablePointer<HandlerState>

  @_noLocks
  init(_ state: UnsafeMutablePointer<HandlerState>) {
    unsafe self.state = state
  }

  /// Leaves the common table, if the default action follows the dump: the kernel's, which no
  /// descriptor concerns.
  ///
  /// A previous handler would find descriptors that other threads have closed still open.
  @_noLocks
  func take() {
    unsafe state.pointee.hasOwnDescriptors = false
    guard unsafe state.pointee.fate == .ends && state.pointee.makes(CallBit.descriptorTable),
      unsafe state.pointee.previousActions[Int(state.pointee.signal)].handler == 0
    else { return }
    unsafe state.pointee.hasOwnDescriptors = pm_leave_descriptor_table() == 0
  }

  /// Looks whether the descriptor is still that of the dump's file, and so all that was written.
  @_noLocks @discardableResult
  func check() -> Bool {
    guard unsafe state.pointee.isPrepared && !state.pointee.hasOwnDescriptors else { return true }
    if unsafe state.pointee.isSame(state.pointee.fileIdentity, state.pointee.fileDescriptor) {
      return true
    }
    unsafe state.pointee.hasLostFile = true
    return false
  }

  /// Makes a dump that has lost its file ready to be written once more; false for one that has not,
  /// or too often.
  ///
  /// Threads stay stopped, and the mappings known.
  @_noLocks
  func beginAgain() -> Bool {
    guard unsafe state.pointee.hasLostFile else { return false }
    // The number is somebody else's.
    unsafe state.pointee.fileDescriptor = -1
    unsafe state.pointee.outcome.hasFile = false
    unsafe state.pointee.outcome.failure = 9  // EBADF
    guard unsafe state.pointee.timesBegunAgain < OwnDescriptors.limit,
      unsafe !state.pointee.isOutOfTime && state.pointee.request.isRenamed
    else { return false }
    unsafe state.pointee.timesBegunAgain &+= 1
    unsafe state.pointee.hasLostFile = false
    unsafe state.pointee.writer.restart(on: -1)
    let kept: UInt64 = 1 &<< 2 | 1 &<< 3  // Sections that write nothing: threads, mappings.
    unsafe state.pointee.sectionsBegun &= kept
    unsafe state.pointee.sectionsAbandoned &= kept
    unsafe state.pointee.threadsReadFromKernel = 0
    unsafe state.pointee.isPrepared = false
    unsafe state.pointee.isBegun = false
    return true
  }
}
