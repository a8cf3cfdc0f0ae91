internal import IntermediateDump

/// The outcome of a crash: what becomes of the process after the dump.
///
/// RUNS-DURING-CRASH.
enum CrashOutcome {
  /// The default action ends it.
  case ends
  /// A handler that was there before ours runs; whether the process lives is up to that.
  case handled
  /// The kernel would have discarded the signal: it was sent to the first process of a PID
  /// namespace.
  case discarded
  /// A handler that was installed after ours has called it: the default action stands behind ours,
  /// and follows if that handler goes back to the crash.
  case delegated

  /// As `survivalOutcome` in a dump numbers it.
  var number: UInt64 {
    @_noLocks get {
      switch self {
      case .ends: SurvivalOutcome.endedCode
      case .handled, .delegated: SurvivalOutcome.previousHandlerRan.code
      case .discarded: SurvivalOutcome.discarded.code
      }
    }
  }

  var isEnd: Bool {
    @_noLocks get {
      if case .ends = self { true } else { false }
    }
  }
}
