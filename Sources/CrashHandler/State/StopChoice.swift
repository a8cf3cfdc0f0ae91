internal import CSignalSafe

/// Which threads a dump stops; the dump reads all other threads while they run or wait.
///
/// RUNS-DURING-CRASH.
enum StopChoice {
  /// Stops no threads, because a program that continues must not get an unexpected EINTR.
  case none
  case all
  /// Stops only the hanging thread, and only if it is running.
  ///
  /// A running thread is in no system call that the signal could interrupt, and the kernel shows registers only of
  /// waiting threads.
  case hungIfRunning
  /// Stops all running threads, because it is not known which thread hangs.
  case running
}
