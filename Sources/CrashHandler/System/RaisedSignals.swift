internal import CSignalSafe

/// The signals that this package's own writes raise: SIGXFSZ beyond the limit on file sizes, and SIGPIPE if nothing reads
/// a pipe.
///
/// The calling thread blocks both signals while it writes, so they stay pending for it.
///
/// RUNS-DURING-CRASH. Source: write(2), EFBIG and EPIPE; rt_sigtimedwait(2).
struct RaisedSignals {
  /// The signals that were pending before, which the program may still wait for.
  private let pending: UInt64

  /// - Parameter blocked: the signals that the thread blocked before this package blocked any; no other signal was
  ///   pending.
  @_noLocks
  init(blocked: UInt64) {
    let all = SignalMask.bit(SIGXFSZ) | SignalMask.bit(SIGPIPE)
    pending = blocked & all == 0 ? 0 : SignalMask.pending ?? all
  }

  /// Removes the signals that the writes since `init` have made pending; makes no system call if no write has failed.
  @_noLocks
  func takeBack() {
    guard pm_has_raised() else { return }
    // The kernel sends these signals to the writing thread, and returns a thread's own signals first.
    SignalMask.take(SignalMask.bit(SIGXFSZ) & ~pending)
    SignalMask.take(SignalMask.bit(SIGPIPE) & ~pending)
  }
}
