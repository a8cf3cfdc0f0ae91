internal import CSignalSafe

/// Keeps crash signals unblocked, even in threads that ask to block them; has an effect on those threads only if the
/// program links the target CSignalMasks.
///
/// Not crash code.
enum OpenSignals {
  /// The signals that are kept unblocked: those that an instruction raises, and SIGABRT.
  static let all = HandledSignals.faults.union(.abort).rawValue

  /// Unblocks the handled signals (`crashes`) that are also in `all`: now in the calling thread, and later in each
  /// thread that starts or sets its mask.
  ///
  /// - Parameter blocked: the signals that the calling thread blocks; nil if they are not known.
  static func keep(_ crashes: UInt64, in process: Int32, blocked: UInt64?) {
    pm_keep_open(crashes & all, process)
    if blocked.map({ $0 & crashes & all != 0 }) ?? true { pm_adopt_mask() }
    // If new threads get alternate stacks, `ThreadStack.followNewThreads` later replaces this function with one that
    // also calls `pm_adopt_mask`.
    if pm_thread_start() == nil { pm_set_thread_start { pm_adopt_mask() } }
  }
}
