/// How a run without a dump ended; the values of the key `runEndKind`.
public enum RunEndKind: UInt8, DumpCode {
  /// The kernel killed the process because memory ran out.
  case outOfMemory = 1
  /// A signal had asked the process to end, and the process did not end in time.
  case stopTimeout = 2
  /// A known signal ended the process.
  case killed = 3
  /// The machine was started again, or lost power.
  case rebooted = 4
  /// The process became another program by exec.
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
