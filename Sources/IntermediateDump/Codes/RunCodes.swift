/// How a process that left no dump ended; the values of the key `runEndKind`.
public enum RunEndKind: UInt8, DumpCode {
  /// The kernel killed the process because memory ran out.
  case outOfMemory = 1
  /// The process did not end in time after a signal, such as SIGTERM, asked it to.
  case stopTimeout = 2
  /// A signal ended the process, and the signal is known.
  case killed = 3
  /// The machine restarted or lost power.
  case rebooted = 4
  /// The process replaced itself with another program through execve(2).
  case replaced = 5
  /// The process hung, and was then killed.
  case hungThenKilled = 6
  /// The process did not call exit or `_exit`, and nothing more is known.
  case unexplained = 7

  public var word: String {
    switch self {
    case .outOfMemory: "out-of-memory"
    case .stopTimeout: "stop-timeout"
    case .killed: "killed"
    case .rebooted: "rebooted"
    case .replaced: "replaced"
    case .hungThenKilled: "hung-then-killed"
    case .unexplained: "unexplained"
    }
  }
}

/// How certain the explanation of a process's end is; the values of the key `runEndCertainty`.
public enum RunEndCertainty: UInt8, DumpCode, Comparable {
  /// The evidence fits this explanation, but also fits others.
  case possible = 1
  /// No other explanation fits the evidence well.
  case likely = 2
  /// The kernel reports this end, or the process itself shows it, for example by starting a handler after `exec`.
  case certain = 3

  public static func < (left: RunEndCertainty, right: RunEndCertainty) -> Bool {
    left.rawValue < right.rawValue
  }
}

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

  public var word: String {
    switch self {
    case .previousHandlerRan: "may-have-survived"
    case .wentOn: "survived"
    case .discarded: "discarded"
    case .endedByHandler: "ended-by-handler"
    }
  }
}

/// How a process exited, as noted in its run record (`ownerNotes`).
package enum NotedEnd: UInt32, DumpCode {
  /// The process called exit(3) or returned from main.
  case exit = 1
  /// The process called `_exit`, `_Exit` or quick_exit(3), or was the parent in daemon(3); atexit(3) handlers did not
  /// run.
  case immediateExit = 2

  package var code: UInt32 { @_noLocks get { rawValue } }
}

/// What happened after a signal that asks the process to end, as noted in the run record (`ownerNotes`).
package enum NotedReaction: UInt32, DumpCode {
  /// The signal's default action followed immediately.
  case defaultAction = 1
  /// The kernel discarded the signal, because the process was the first process of its PID namespace.
  case discarded = 2
  /// The program handled the signal itself, and called `noteTermination`.
  case program = 3

  package var code: UInt32 { @_noLocks get { rawValue } }
}

/// The location, in the run record's file, of the notes on how the process ends.
///
/// RUNS-DURING-CRASH. `RunNotes` reads the notes.
package enum RunNotePlace {
  /// The size of the notes in bytes.
  package static var size: Int { @_noLocks get { 32 } }
  /// The offset of the notes, which follow the header, the owner token and the property header of the notes.
  package static var offset: Int64 { @_noLocks get { 32 &+ 3 &+ 7 } }
  /// The offset, within the notes, of the signal that asked the process to end.
  package static var terminationOffset: Int64 { @_noLocks get { 8 } }
}
