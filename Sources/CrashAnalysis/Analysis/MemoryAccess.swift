internal import Glibc
internal import IntermediateDump
package import ProcessSnapshot

/// How a faulting instruction accessed memory.
package enum MemoryAccess: String, Sendable {
  case read
  case write
  case execute

  /// Determines from the processor's fault code whether the access was a read, a write or an instruction fetch; nil
  /// if this is not known.
  ///
  /// If the faulting address is the instruction pointer, the access was an instruction fetch.
  ///
  /// Source: Intel SDM volume 3, 4.7 (Page-Fault Exceptions): bit 1 means a write, bit 4 an instruction fetch.
  package init?(_ exception: ExceptionSnapshot) {
    if let foreign = exception.foreign {
      guard let access = foreign.access.flatMap({ MemoryAccess(rawValue: $0.rawValue) }) else {
        return nil
      }
      self = access
      return
    }
    guard exception.signal == SIGSEGV || exception.signal == SIGBUS, let code = exception.code,
      code > 0
    else { return nil }
    if let address = exception.address, exception.context?.instructionPointer == address {
      self = .execute
      return
    }
    if case .arm64? = exception.context {
      guard let access = exception.trapErrorCode.flatMap(MemoryAccess.init(syndrome:)) else {
        return nil
      }
      self = access
      return
    }
    // Trap 14 is the page fault; the error code of another trap means something else.
    guard exception.trapNumber == 14, let error = exception.trapErrorCode else { return nil }
    self = error & 16 != 0 ? .execute : error & 2 != 0 ? .write : .read
  }

  /// Determines the kind of access from arm64's exception syndrome; nil if the exception was not about a memory
  /// access.
  ///
  /// Source: Arm ARM, D24.2.40 (ESR_EL1).
  ///
  /// The class of the exception is in bits 26 to 31. In a data abort, bit 6 means a write, unless bit 8 is set. Bit 8
  /// means cache maintenance, for which the processor also sets bit 6.
  private init?(syndrome: UInt64) {
    switch syndrome >> 26 & 0x3F {
    case 0x20, 0x21: self = .execute
    case 0x24, 0x25: self = syndrome & 0x140 == 0x40 ? .write : .read
    default: return nil
    }
  }
}
