/// What showed the handler in which system call a thread was blocked; the values of the key `systemCallSource`.
///
/// Only the handler of version 1.0.0 wrote this key, with the value `registers` or `code`.
public enum SystemCallSource: UInt8, DumpCode {
  /// The file `/proc/self/task/<tid>/syscall`.
  case kernel = 1
  /// The registers of a thread that was stopped in the system call and was about to repeat the call.
  case registers = 2
  /// An inference from the instructions before a stopped thread's instruction pointer, which make this call.
  case code = 3

  package var code: UInt64 { @_noLocks get { UInt64(rawValue) } }
}
