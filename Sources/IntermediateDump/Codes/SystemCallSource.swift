/// The source of the system call in which a thread was blocked; the values of the key `systemCallSource`.
///
/// The handler of version 1.0.0 wrote `registers` and `code`; later handlers write neither.
public enum SystemCallSource: UInt8, DumpCode {
  /// The file `/proc/self/task/<tid>/syscall`.
  case kernel = 1
  /// The registers of a thread that was stopped in the call, and was about to repeat the call.
  case registers = 2
  /// An inference: the code before the instruction pointer of a stopped thread makes this call.
  case code = 3

  package var code: UInt64 { @_noLocks get { UInt64(rawValue) } }
}
