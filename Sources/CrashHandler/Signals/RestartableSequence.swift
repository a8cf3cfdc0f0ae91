internal import CSignalSafe

/// Recognizes a fault inside a restartable sequence (rseq).
///
/// Before the kernel calls a signal handler, the kernel moves the instruction pointer out of the sequence, to the
/// sequence's abort handler. So when the signal handler returns, the faulting instruction does not run again: the
/// program would continue in the abort handler. If no handler were installed, the fault would end the process
/// immediately.
///
/// RUNS-DURING-CRASH. Source: rseq(2); Linux kernel/rseq.c, rseq_ip_fixup; glibc bits/rseq.h, RSEQ_SIG.
extension Capture {
  /// The signature that libc passes to rseq(2) for each thread; these four bytes precede each abort handler.
  private static var sequenceSignature: UInt32 {
    #if arch(arm64)
      0xD428_BC00
    #else
      0x5305_3053
    #endif
  }

  /// True if the kernel moved the instruction pointer to an abort handler.
  ///
  /// The kernel does this only if the signature precedes the abort handler.
  @_noLocks
  func hasLeftSequence(_ signal: DeliveredSignal) -> Bool {
    guard let context = signal.context else { return false }
    let place = context.instructionPointer &- 4
    return pm_is_readable(place)
      && UInt32(truncatingIfNeeded: pm_load_word(place)) == Capture.sequenceSignature
  }
}
