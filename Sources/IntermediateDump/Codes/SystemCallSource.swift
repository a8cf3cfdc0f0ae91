/// The evidence for the system call that a thread was blocked in; the values of the key `systemCallSource`.
///
/// 1.0.0 wrote `registers` and `code`; later handlers write none.
public enum SystemCallSource: UInt8, DumpCode {
  /// `/proc/self/task/<tid>/syscall`.
  case kernel = 1
  /// Read from the registers of a thread that was stopped in the call and was about to repeat it.
  case registers = 2
  /// Inferred: the code before the instruction pointer of a stopped thread makes this call.
  case code = 3

  package var code: UInt64 { @_noLocks get { UInt64(rawValue) } }
}
