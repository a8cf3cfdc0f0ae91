/// What requested a dump of a process that had not crashed; the values of the key `requestKind`.
public enum RequestKind: UInt8, DumpCode {
  /// The program itself requested the dump by calling `dumpWithoutCrash`.
  case program = 1
  /// A hang monitor requested the dump.
  ///
  /// The dump becomes a report only if the process ends before the watched part answers again, or if the monitor
  /// keeps the dump.
  case hang = 2
  /// `postmortem capture` requested the dump by sending a signal to the process.
  case tool = 3
  /// A debugger wrote a core file of a process that then continued.
  case coreFile = 4

  package var code: UInt64 { @_noLocks get { UInt64(rawValue) } }
}

/// The kind of the part of the program that hung; the values of the key `hangTarget`.
public enum HangTarget: UInt8, DumpCode {
  case mainThread = 1
  /// A Dispatch queue.
  case queue = 2
  case executor = 3
  case heartbeat = 4

  package var code: UInt64 { @_noLocks get { UInt64(rawValue) } }

  public var word: String { self == .mainThread ? "main-thread" : noun }

  /// The name of the watched part in sentences.
  package var noun: String { self == .mainThread ? "main thread" : "\(self)" }
}

/// The evidence that the report's first thread is the thread that hung; the values of the key `hangThreadEvidence`.
public enum HangThreadEvidence: UInt8, DumpCode {
  /// The monitor watches the main queue and this is the main thread, or this thread gave the last heartbeat.
  case known = 1
  /// This thread was the last to answer the monitor, but another thread may have hung.
  case lastSeen = 2
  /// The hung thread is not known; the report's first thread is the monitor's own thread.
  case none = 3

  package var code: UInt64 { @_noLocks get { UInt64(rawValue) } }

  public var word: String { self == .lastSeen ? "last-seen" : "\(self)" }
}
