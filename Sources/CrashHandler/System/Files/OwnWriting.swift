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
  private static var signal: UInt64 { SignalMask.bit(SIGXFSZ) }

  private let limit: FileSizeLimit
  /// The thread's signal mask before the write.
  let previousMask: UInt64
  private let wasPending: Bool

  /// - Parameters:
  ///   - raisesLimit: true if the soft limit on file sizes may be raised.
  ///   - signals: the bits of the signals that, in addition to SIGXFSZ, are blocked during the write.
  ///   - open: the bits of signals that are unblocked during the write, even if the thread had blocked them.
  @_noLocks
  init(raisesLimit: Bool, blocking signals: UInt64 = 0, opening open: UInt64 = 0) {
    previousMask = SignalMask.block(signals | OwnWriting.signal) ?? 0
    if open != 0 { SignalMask.unblock(open) }
    wasPending = (SignalMask.pending ?? 0) & OwnWriting.signal != 0
    limit = FileSizeLimit(isRaised: raisesLimit)
  }

  /// - Parameter hasFailed: true if a write may have failed because of the limit on file sizes; the SIGXFSZ that the
  ///   write raised is then removed.
  @_noLocks
  func finish(hasFailed: Bool) {
    limit.restore()
    // The kernel sends SIGXFSZ to the writing thread, so this call removes only the signal that this write raised.
    if hasFailed && !wasPending { SignalMask.take(OwnWriting.signal) }
    SignalMask.set(previousMask)
  }
}
