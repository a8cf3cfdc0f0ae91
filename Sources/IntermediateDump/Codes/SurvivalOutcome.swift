/// The event that followed the dump of a crash; the values of the key `survivalOutcome`.
public enum SurvivalOutcome: UInt8, DumpCode {
  /// A handler that the program had before ours ran, or one that it had installed later went on; what
  /// came of it is not known.
  case previousHandlerRan = 1
  /// A handler that the program had before ours ran, and the process went on.
  case wentOn = 2
  /// The kernel discarded the signal, which was sent to the first process of a PID namespace, and the
  /// process went on.
  case discarded = 3
  /// A handler that the program had before ours ran, and ended the process: by abort(3) or another
  /// signal of its own, which is no crash of its own, or by exit(3) or `_exit`.
  case endedByHandler = 4

  package var code: UInt64 { @_noLocks get { UInt64(rawValue) } }

  /// The byte of a process that ended all the same, which readers take for none.
  package static var endedCode: UInt64 { @_noLocks get { 0 } }
}
