internal import CSignalSafe

/// The threads that a dump stops; the others are read without being stopped.
///
/// RUNS-DURING-CRASH.
enum StopChoice {
  /// Stops no threads, because a program that continues must not get an unexpected EINTR.
  case none
  case all
  /// Stops the hanging thread if it is running: it is then in no call that the signal could interrupt, and the kernel
  /// does not show its registers.
  case hungIfRunning
  /// Stops all running threads, if it is not known which one hangs.
  case running
}
