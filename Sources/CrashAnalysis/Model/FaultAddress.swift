internal import IntermediateDump
package import ProcessSnapshot

extension Address {
  /// True for a canonical 48-bit address, whether of user memory or of kernel memory.
  package var isCanonical: Bool {
    let high = value >> 47
    return high == 0 || high == 0x1_FFFF
  }

  /// True for a canonical 57-bit address; such addresses exist on processors with five levels of page tables.
  package var isCanonicalOnAnyProcessor: Bool {
    let high = value >> 56
    return high == 0 || high == 0xFF
  }
}

extension ProcessSnapshot {
  /// True for an address that is canonical on the processor of this process.
  ///
  /// Memory above 47 bits exists only with five levels of page tables, and only if the process asked for it. Processes
  /// without such memory are treated as if they ran on a processor with four levels.
  ///
  /// Source: Linux Documentation/arch/x86/x86_64/5level-paging.rst.
  package func isCanonical(_ address: Address) -> Bool {
    if address.isCanonical { return true }
    return address.isCanonicalOnAnyProcessor
      && mappings.contains { !$0.start.isCanonical && $0.start.isCanonicalOnAnyProcessor }
  }
}

extension ExceptionSnapshot {
  /// The `si_code` SI_KERNEL, which a general protection fault has because the kernel knows no address for the fault.
  ///
  /// Signals that are not faults can have this code too.
  package static let kernelCode: Int32 = 0x80
}
