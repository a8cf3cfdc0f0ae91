/// The origin of a dump without a crash; the values of the key `requestKind`.
public enum RequestKind: UInt8, DumpCode {
  /// The program itself, by `dumpWithoutCrash`.
  case program = 1
  /// A hang monitor requested the dump; the process ended before the watched part answered again.
  case hang = 2
  /// `postmortem capture`, which sent the process a signal.
  case tool = 3
  /// A debugger, which wrote a core file of a process that continued.
  case coreFile = 4

  package var code: UInt64 { @_noLocks get { UInt64(rawValue) } }
}
