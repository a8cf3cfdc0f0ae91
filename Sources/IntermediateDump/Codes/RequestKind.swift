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
