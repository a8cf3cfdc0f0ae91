/// What happened to the process after the dump of a crash; the values of the key `survivalOutcome`.
public enum SurvivalOutcome: UInt8, DumpCode {
  /// A previous handler ran, or a handler that was installed later continued to run; what happened next is not known.
  case previousHandlerRan = 1
  /// A previous handler ran, and the process continued.
  case wentOn = 2
  /// The kernel discarded the signal, which was sent to the first process of a PID namespace, and the process
  /// continued.
  case discarded = 3
  /// A previous handler ran, and ended the process.
  ///
  /// That handler called exit(3), `_exit` or abort(3), or raised another signal, which does not count as a new crash.
  case endedByHandler = 4

  package var code: UInt64 { @_noLocks get { UInt64(rawValue) } }

  /// The value of the outcome's byte if the crash ends the process; readers treat this value like a missing byte.
  package static var endedCode: UInt64 { @_noLocks get { 0 } }
}
