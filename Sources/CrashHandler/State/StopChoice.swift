internal import CSignalSafe

/// The threads that a dump stops; the others are read as they are.
///
/// RUNS-DURING-CRASH.
enum StopChoice {
  /// None: a program that continues must not get an unexpected EINTR.
  case none
  case all
  /// The thread that hangs, if it runs: it then is in no call that the signal could end, and the
  /// kernel does not tell where it is.
  case hungIfRunning
  /// All that run, if it is not known which one hangs.
  case running
}
