internal import CSignalSafe
internal import IntermediateDump

/// Keeps a dump out of the files of a program whose thread could not be stopped, and goes on opening,
/// duplicating and closing descriptors while the dump is written.
///
/// If the process ends by its crash, the capturing thread leaves the common table of descriptors:
/// changes by others no longer reach it, so that a descriptor which is ours when it is checked stays
/// so. There is no way back, so a process that may live on keeps the common table. There the file is
/// checked before each flush, and a dump that has lost its file is written again from its beginning.
/// A write between a check and the flush, or in the middle of a section, may still get into a file of
/// the program's.
///
/// RUNS-DURING-CRASH, on the capturing thread. Source: unshare(2), CLONE_FILES.
@safe
struct OwnDescriptors {
  /// Times that a dump is begun again: against a thread that does nothing else it is lost.
  private static var limit: UInt8 { 3 }

  private let capture: Capture

  @_noLocks
  init(_ capture: Capture) {
    self.capture = capture
  }

  /// Leaves the common table, if the default action follows the dump: the kernel's, which no
  /// descriptor concerns.
  ///
  /// A previous handler would find descriptors that other threads have closed still open.
  @_noLocks
  func take() {
    capture.session.files.hasOwnDescriptors = false
    guard case .ends = capture.session.exception.fate, capture.mayMake(CallBit.files),
      capture.shared.previousActions[capture.session.exception.signal.number].handler == SIG_DFL
    else { return }
    capture.session.files.hasOwnDescriptors = pm_leave_descriptor_table() == 0
  }

  /// Checks that the descriptor is still that of the dump's file.
  @_noLocks @discardableResult
  func check() -> Bool {
    switch capture.session.progress.file {
    case .none: return true
    case .lost: return false
    case .open, .begun: break
    }
    guard !capture.session.files.hasOwnDescriptors, !capture.isSame(capture.session.files.dump)
    else { return true }
    capture.session.progress.file = .lost
    return false
  }

  /// Makes a dump that has lost its file ready to be written once more; false for one that has not,
  /// or too often.
  ///
  /// Threads stay stopped, and the mappings known.
  @_noLocks
  func beginAgain() -> Bool {
    guard capture.session.progress.hasLostFile else { return false }
    // The number is somebody else's.
    capture.session.files.dump.descriptor = -1
    capture.session.outcome.hasFile = false
    capture.session.outcome.failure = EBADF
    guard capture.session.progress.timesBegunAgain < OwnDescriptors.limit,
      !capture.session.time.isCut, capture.session.request.isRenamed
    else { return false }
    capture.session.progress.beginAgain()
    capture.session.writer.restart(on: -1)
    capture.session.counts.threadsReadFromKernel = 0
    return true
  }
}

/// Keeps a write of ours, outside of a crash, from raising SIGXFSZ: the soft limit of file sizes is
/// raised, and where the hard one is too low as well the signal is taken away again.
///
/// `finish` must follow. RUNS-DURING-CRASH: signal handlers and `_exit` write notes.
///
/// Source: setrlimit(2), RLIMIT_FSIZE; rt_sigtimedwait(2).
struct OwnWriting {
  static var fileSizeSignal: UInt64 { @_noLocks get { SignalMask.bit(SIGXFSZ) } }

  private let limit: FileSizeLimit
  private let previousMask: UInt64
  private let wasPending: Bool

  /// - Parameter signals: the others that are blocked meanwhile, by bits.
  @_noLocks
  init(_ capture: Capture, blocking signals: UInt64) {
    previousMask = SignalMask.block(signals | OwnWriting.fileSizeSignal) ?? 0
    wasPending = (SignalMask.pending ?? 0) & OwnWriting.fileSizeSignal != 0
    limit = FileSizeLimit(capture)
  }

  /// - Parameter hasFailed: whether a write may have been refused for its size.
  @_noLocks
  func finish(hasFailed: Bool) {
    limit.restore()
    if hasFailed && !wasPending { SignalMask.take(OwnWriting.fileSizeSignal) }
    SignalMask.set(previousMask)
  }
}

/// The soft limit of file sizes, raised to the hard one while files of ours are written.
///
/// Under a limit of 0 every write is EFBIG, to blocks that are held too.
///
/// RUNS-DURING-CRASH. Source: getrlimit(2), RLIMIT_FSIZE.
struct FileSizeLimit {
  private var limit = pm_limit()
  private var isRaised = false

  @_noLocks
  init(_ capture: Capture) {
    guard capture.mayMake(CallBit.files), unsafe pm_file_size_limit(nil, &limit) == 0,
      limit.soft != limit.hard
    else { return }
    var raised = limit
    raised.soft = limit.hard
    isRaised = unsafe pm_file_size_limit(&raised, nil) == 0
  }

  @_noLocks
  func restore() {
    guard isRaised else { return }
    var previous = limit
    _ = unsafe pm_file_size_limit(&previous, nil)
  }
}
