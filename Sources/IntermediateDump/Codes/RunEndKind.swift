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
