internal import Glibc
internal import ProcessSnapshot

/// The kind of access of a faulting instruction.
package enum MemoryAccess: String, Sendable {
  case read
  case write
  case execute

  /// From the page-fault error code of x86, or where the instruction pointer itself faulted; nil
  /// where neither tells.
  ///
  /// Source: Intel SDM volume 3, 4.7 (Page-Fault Exceptions): bit 1 a write, bit 4 an instruction
  /// fetch.
  init?(_ exception: ExceptionSnapshot) {
    guard exception.signal == SIGSEGV || exception.signal == SIGBUS, let code = exception.code,
      code > 0
    else { return nil }
    if let address = exception.address, exception.context?.instructionPointer == address {
      self = .execute
      return
    }
    // Trap 14 is the page fault; the error code of another trap means something else.
    guard exception.trapNumber == 14, let error = exception.trapErrorCode else { return nil }
    self = error & 16 != 0 ? .execute : error & 2 != 0 ? .write : .read
  }
}
