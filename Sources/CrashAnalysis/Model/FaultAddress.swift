internal import IntermediateDump
package import ProcessSnapshot

extension Address {
  /// True for a canonical 48-bit address, whether of user memory or of kernel memory.
  package var isCanonical: Bool {
    let high = value >> 47
    return high == 0 || high == 0x1_FFFF
  }
}

extension ExceptionSnapshot {
  /// The `si_code` SI_KERNEL, which a general protection fault has because the kernel knows no address for the fault.
  ///
  /// Signals that are not faults can have this code too.
  package static let kernelCode: Int32 = 0x80
}
