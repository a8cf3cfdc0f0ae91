internal import IntermediateDump

/// The outcome of a crash: how the process ends or continues after the dump.
///
/// RUNS-DURING-CRASH.
enum CrashOutcome {
  /// The default action ends the process.
  case ends
  /// The handler that had been installed before this package's handler runs next, and decides whether the process
  /// survives.
  case handled
  /// The kernel would have discarded the signal, because it was sent to the first process of a PID namespace.
  case discarded
  /// A handler that was installed later called this package's handler, and there is no previous handler.
  ///
  /// The default action is taken if the other handler returns to the crashed instruction.
  case delegated

  /// The number that stands for this outcome in a dump's `survivalOutcome`.
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
