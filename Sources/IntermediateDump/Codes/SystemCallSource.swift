/// The evidence for the system call that a thread was blocked in; the values of the key `systemCallSource`.
///
/// 1.0.0 wrote `registers` and `code`; later handlers write none.
public enum SystemCallSource: UInt8, DumpCode {
  /// `/proc/self/task/<tid>/syscall`.
  case kernel = 1
  /// The registers of a thread that was stopped in it, and was about to make it again.
  case registers = 2
  /// Inferred: the code in front of the place where a thread was stopped makes this call.
  case code = 3

  package var code: UInt64 { @_noLocks get { UInt64(rawValue) } }
}
