internal import CSignalSafe

/// Keeps signals of crashes open in threads that block them, where the program has the target
/// CSignalMasks.
///
/// Ordinary code.
enum OpenSignals {
  /// Those that an instruction raises, and that of abort().
  static let all = HandledSignals.faults.union(.abort).rawValue

  /// Opens those of `crashes` in the calling thread, and in each that begins or sets its mask from
  /// now on.
  ///
  /// - Parameter blocked: those that the calling thread blocks; nil where it is not known.
  static func keep(_ crashes: UInt64, in process: Int32, blocked: UInt64?) {
    pm_keep_open(crashes & all, process)
    if blocked.map({ $0 & crashes & all != 0 }) ?? true { pm_adopt_mask() }
    // Threads that get an alternate stack begin with it.
    if pm_thread_start() == nil { pm_set_thread_start { pm_adopt_mask() } }
  }
}
