internal import CSignalSafe

/// Keeps SIGXFSZ from ending the process when this package writes a file outside a crash.
///
/// A write beyond RLIMIT_FSIZE raises SIGXFSZ, whose default action ends the process. So SIGXFSZ is blocked during the
/// write, and removed if the write has made it pending. If the caller allows it, the soft limit is raised too, so that
/// the write can succeed.
///
/// `finish` must be called after the write. RUNS-DURING-CRASH: signal handlers and `_exit` use this type when they note
/// in the run record how the process ends. Ordinary code that writes files, such as `startHandler`, also uses it.
///
/// Source: write(2), EFBIG; setrlimit(2), RLIMIT_FSIZE; rt_sigtimedwait(2).
struct OwnWriting {
  private let limit: FileSizeLimit
  /// The thread's signal mask before the write; nil if the kernel refuses to change it.
  let previousMask: UInt64?
  private let raised: RaisedSignals

  /// - Parameters:
  ///   - raisesLimit: true if the soft limit on file sizes may be raised.
  ///   - signals: the bits of the signals that, in addition to SIGXFSZ, are blocked during the write.
  @_noLocks
  init(raisesLimit: Bool, blocking signals: UInt64 = 0) {
    previousMask = SignalMask.block(signals | SignalMask.bit(SIGXFSZ))
    raised = RaisedSignals(blocked: previousMask ?? .max)
    limit = FileSizeLimit(isRaised: raisesLimit)
  }

  @_noLocks
  func finish() {
    limit.restore()
    raised.takeBack()
    if let previousMask { SignalMask.set(previousMask) }
  }
}
