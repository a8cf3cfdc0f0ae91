internal import IntermediateDump

/// The outcome of a crash: how the process ends or continues after the dump.
///
/// RUNS-DURING-CRASH.
enum CrashOutcome {
  /// The default action ends it.
  case ends
  /// The handler that was installed before this one runs next, and decides whether the process survives.
  case handled
  /// The kernel would have discarded the signal: it was sent to the first process of a PID
  /// namespace.
  case discarded
  /// A handler that was installed after this one called it, and there is no previous handler: the default action
  /// follows if that handler returns to the crash.
  case delegated

  /// The value of `survivalOutcome` in a dump.
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
