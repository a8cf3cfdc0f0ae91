internal import CSignalSafe

/// Keeps a write of the handler, outside a crash, from raising SIGXFSZ in the program.
///
/// A write beyond RLIMIT_FSIZE raises it, and its default action ends the process. So the signal is blocked during
/// the write, a pending one is removed, and the soft limit is raised if that is allowed.
///
/// `finish` must follow. RUNS-DURING-CRASH: signal handlers and `_exit` write notes; `startHandler` and
/// dumps without a crash use it too.
///
/// Source: write(2), EFBIG; setrlimit(2), RLIMIT_FSIZE; rt_sigtimedwait(2).
struct OwnWriting {
  private static var signal: UInt64 { SignalMask.bit(SIGXFSZ) }

  private let limit: FileSizeLimit
  /// The thread's earlier mask.
  let previousMask: UInt64
  private let wasPending: Bool

  /// - Parameters:
  ///   - raisesLimit: true if the limit may be raised.
  ///   - signals: the bits of other signals that are blocked during the write.
  ///   - open: the signals that stay unblocked, whatever the thread had blocked.
  @_noLocks
  init(raisesLimit: Bool, blocking signals: UInt64 = 0, opening open: UInt64 = 0) {
    previousMask = SignalMask.block(signals | OwnWriting.signal) ?? 0
    if open != 0 { SignalMask.unblock(open) }
    wasPending = (SignalMask.pending ?? 0) & OwnWriting.signal != 0
    limit = FileSizeLimit(isRaised: raisesLimit)
  }

  /// - Parameter hasFailed: true if a write may have failed because of the file's size.
  @_noLocks
  func finish(hasFailed: Bool) {
    limit.restore()
    // The kernel sends it to the writing thread, so no other signal is removed.
    if hasFailed && !wasPending { SignalMask.take(OwnWriting.signal) }
    SignalMask.set(previousMask)
  }
}
