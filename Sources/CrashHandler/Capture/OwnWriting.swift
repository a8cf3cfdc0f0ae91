internal import CSignalSafe

/// Keeps a write of ours, outside of a crash, from raising SIGXFSZ: the soft limit of file sizes is
/// raised, and where the hard one is too low as well the signal is taken away again.
///
/// `finish` must follow. RUNS-DURING-CRASH: signal handlers and `_exit` write notes.
///
/// Source: setrlimit(2), RLIMIT_FSIZE; rt_sigtimedwait(2).
struct OwnWriting {
  /// XFSZ's bit.
  static var fileSizeSignal: UInt64 { @_noLocks get { 1 &<< 24 } }

  private let limit: FileSizeLimit
  private let previousMask: UInt64
  private let wasPending: Bool

  /// - Parameter signals: what else waits meanwhile, by bits.
  @_noLocks
  init(_ capture: Capture, blocking signals: UInt64) {
    previousMask = SignalMask.block(signals | OwnWriting.fileSizeSignal) ?? 0
    wasPending = (SignalMask.pending ?? 0) & OwnWriting.fileSizeSignal != 0
    limit = FileSizeLimit(isRaised: capture.makes(CallBit.fileSizeLimit))
  }

  /// - Parameter hasFailed: whether a write may have been refused for its size.
  @_noLocks
  func finish(hasFailed: Bool) {
    limit.restore()
    if hasFailed && !wasPending { SignalMask.take(OwnWriting.fileSizeSignal) }
    SignalMask.set(previousMask)
  }
}
