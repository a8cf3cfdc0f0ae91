/// The event that followed the dump of a crash; the values of the key `survivalOutcome`.
public enum SurvivalOutcome: UInt8, DumpCode {
  /// A previous handler ran, or a handler that was installed later continued; the result is not known.
  case previousHandlerRan = 1
  /// A previous handler ran, and the process continued.
  case wentOn = 2
  /// The kernel discarded the signal, which was sent to the first process of a PID namespace, and the process
  /// continued.
  case discarded = 3
  /// A previous handler ran, and ended the process: by abort(3) or another signal, which is not a new crash, or by
  /// exit(3) or `_exit`.
  case endedByHandler = 4

  package var code: UInt64 { @_noLocks get { UInt64(rawValue) } }

  /// The byte for a process that ended after all, which readers treat as missing.
  package static var endedCode: UInt64 { @_noLocks get { 0 } }
}
