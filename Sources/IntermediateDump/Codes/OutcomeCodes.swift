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

  public var word: String {
    switch self {
    case .previousHandlerRan: "may-have-survived"
    case .wentOn: "survived"
    case .discarded: "discarded"
    case .endedByHandler: "ended-by-handler"
    }
  }
}

/// The origin of a dump without a crash; the values of the key `requestKind`.
public enum RequestKind: UInt8, DumpCode {
  /// The program itself, by `dumpWithoutCrash`.
  case program = 1
  /// A hang monitor; the process ended before what it watches answered again.
  case hang = 2
  /// `postmortem capture`, which sent the process a signal.
  case tool = 3

  package var code: UInt64 { @_noLocks get { UInt64(rawValue) } }
}

/// The kind of thing that hung; the values of the key `hangTarget`.
public enum HangTarget: UInt8, DumpCode {
  case mainThread = 1
  /// A Dispatch queue.
  case queue = 2
  case executor = 3
  case heartbeat = 4

  package var code: UInt64 { @_noLocks get { UInt64(rawValue) } }

  public var word: String { self == .mainThread ? "main-thread" : "\(self)" }
}

/// The evidence that the first thread is the one that hung; the values of the key `hangThreadEvidence`.
public enum HangThreadEvidence: UInt8, DumpCode {
  /// It is the only one that can answer, or was at it when it hung.
  case known = 1
  /// It answered last; another one may have hung.
  case lastSeen = 2
  /// It is not known; the first thread is the monitor's own.
  case none = 3

  package var code: UInt64 { @_noLocks get { UInt64(rawValue) } }

  public var word: String { self == .lastSeen ? "last-seen" : "\(self)" }
}

/// The end of a run that left no dump of it; the values of the key `runEndKind`.
public enum RunEndKind: UInt8, DumpCode {
  /// The kernel killed it for want of memory.
  case outOfMemory = 1
  /// A signal had asked it to end, and it did not in time.
  case stopTimeout = 2
  /// A signal ended it, and it is known which.
  case killed = 3
  /// The machine was started again, or lost power.
  case rebooted = 4
  /// It became another program by exec.
  case replaced = 5
  /// It hung, and was then killed.
  case hungThenKilled = 6
  /// It did not exit; nothing tells more.
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

/// The certainty of such a verdict; the values of the key `runEndCertainty`.
public enum RunEndCertainty: UInt8, DumpCode, Comparable {
  /// The evidence allows one explanation among others.
  case possible = 1
  /// The evidence fits nothing else well.
  case likely = 2
  /// The kernel says so.
  case certain = 3

  public static func < (left: RunEndCertainty, right: RunEndCertainty) -> Bool {
    left.rawValue < right.rawValue
  }
}

/// The way in which a process ended by its own will, as it notes in its run record (`ownerNotes`).
package enum NotedEnd: UInt32, DumpCode {
  /// exit(3), or the return from main.
  case exit = 1
  /// `_exit`, `_Exit`, quick_exit(3) or the parent of daemon(3), which run no exit handlers.
  case immediateExit = 2

  package var code: UInt32 { @_noLocks get { rawValue } }
}

/// The reaction to a signal that asks the process to end, as it notes in its run record (`ownerNotes`).
package enum NotedReaction: UInt32, DumpCode {
  /// The default action, at once.
  case defaultAction = 1
  /// Nothing: the process was the first of its PID namespace.
  case discarded = 2
  /// The program's own: it called `noteTermination`.
  case program = 3

  package var code: UInt32 { @_noLocks get { rawValue } }
}
