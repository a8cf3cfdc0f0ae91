internal import CSignalSafe

/// Keeps crash signals unblocked; has an effect only if the program links the target CSignalMasks.
///
/// Not crash code.
enum OpenSignals {
  /// Chooses the signals among the handled ones, and unblocks them in the calling thread.
  ///
  /// From then on, pthread_sigmask leaves them unblocked, and each new thread unblocks those that it inherits blocked.
  ///
  /// A signal that has a handler of the program's is not kept unblocked: without this package, this handler would not
  /// run while the signal is blocked.
  static func keep(_ signals: CrashSignals) {
    guard pm_replaces_masks() else { return }
    let blocked = signals.blocked
    var kept = CrashSignals.faults & signals.mask & ~signals.handledByProgram
    // A signal that is pending now was sent, and would arrive at once.
    if blocked.map({ $0 & kept != 0 }) ?? true { kept &= ~(SignalMask.pending ?? 0) }
    if pm_abort_opens_its_signal() == 0 { kept |= signals.mask & SignalMask.bit(SIGABRT) }
    pm_keep_open(kept)
    if blocked.map({ pm_opened_mask($0) != $0 }) ?? true { openHere() }
    // If new threads get alternate stacks, `ThreadStack.followNewThreads` later replaces this function with one that
    // also calls `openHere`.
    if pm_thread_start() == nil { pm_set_thread_start { OpenSignals.openHere() } }
  }

  /// Unblocks these signals in the calling thread.
  static func openHere() {
    let mask = SignalMask.current
    let opened = pm_opened_mask(mask)
    if opened != mask { SignalMask.set(opened) }
  }
}
