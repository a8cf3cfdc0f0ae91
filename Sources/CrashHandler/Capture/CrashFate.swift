/// What becomes of a process after a dump.
///
/// RUNS-DURING-CRASH.
struct CrashFate: Equatable {
  private let code: UInt8

  @_noLocks
  private init(code: UInt8) { self.code = code }

  /// The default action ends it.
  static var ends: CrashFate { @_noLocks get { CrashFate(code: 0) } }
  /// A handler that was there before ours runs; whether the process lives is up to that.
  static var handled: CrashFate { @_noLocks get { CrashFate(code: 1) } }
  /// The kernel would have discarded the signal: it was sent to the first process of a PID
  /// namespace.
  static var discarded: CrashFate { @_noLocks get { CrashFate(code: 3) } }
  /// A handler that was installed after ours has called it: the default action stands behind ours,
  /// and follows if that handler goes back to the crash.
  static var delegated: CrashFate { @_noLocks get { CrashFate(code: 4) } }

  /// As a dump says it, see `SurvivalOutcome`.
  var outcome: UInt64 { @_noLocks get { code == 4 ? 1 : UInt64(code) } }
  /// What takes the place of `handled` once the process is known to have gone on.
  static var wentOn: UInt8 { @_noLocks get { 2 } }
  /// What takes the place of any of them once the process is known to end all the same.
  static var ended: UInt8 { @_noLocks get { 0 } }

  @_noLocks
  static func == (left: CrashFate, right: CrashFate) -> Bool { left.code == right.code }
  // The standard library's is generic over Equatable, which crash code cannot call.
  @_noLocks
  static func != (left: CrashFate, right: CrashFate) -> Bool { left.code != right.code }
}
