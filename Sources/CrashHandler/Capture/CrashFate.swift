/// What becomes of a process after a dump.
///
/// RUNS-DURING-CRASH.
enum CrashFate {
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

  /// As a dump says it, see `SurvivalOutcome`.
  var outcome: UInt64 {
    @_noLocks get {
      switch self {
      case .ends: 0
      case .handled, .delegated: 1
      case .discarded: 3
      }
    }
  }

  var isEnd: Bool {
    @_noLocks get {
      if case .ends = self { true } else { false }
    }
  }

  /// What takes the place of `handled` once the process is known to have gone on.
  static var wentOn: UInt8 { @_noLocks get { 2 } }
  /// What takes the place of any of them once the process is known to end all the same.
  static var ended: UInt8 { @_noLocks get { 0 } }
}
