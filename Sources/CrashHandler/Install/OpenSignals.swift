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
  static func keep(_ crashes: UInt64, in process: Int32) {
    pm_keep_open(crashes & all, process)
    pm_adopt_mask()
    // Threads that get an alternate stack begin with it.
    if pm_thread_start() == nil { pm_set_thread_start { pm_adopt_mask() } }
  }
}
