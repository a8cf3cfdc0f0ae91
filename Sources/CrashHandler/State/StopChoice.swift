internal import CSignalSafe

/// Which threads are stopped during a dump; all other threads are read while they run or wait.
///
/// RUNS-DURING-CRASH.
enum StopChoice {
  /// Stops no threads, because a program that continues must not get an unexpected EINTR.
  case none
  case all
  /// Stops only the hung thread, and only if it is running.
  ///
  /// To stop a running thread causes no EINTR, because the thread does not wait in a system call. A waiting thread need
  /// not be stopped, because the kernel shows its stack pointer and instruction pointer.
  case hungIfRunning
  /// Stops all running threads, because it is not known which thread hangs.
  case running
}
