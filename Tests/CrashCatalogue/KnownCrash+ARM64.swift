extension KnownCrash {
  /// The bytes of a signal's frame on arm64, without SVE.
  static let signalFrameOfARM64 = 4720

  /// The same crash on arm64; nil if there is none.
  ///
  /// Source: Linux arch/arm64/kernel/traps.c and debug-monitors.c.
  public var onARM64: KnownCrash? {
    var crash = self
    switch kind {
    // A division by zero is 0, and only the processor's own checks are of alignment.
    case "divide-by-zero", "misaligned": return nil
    case "illegal-instruction":
      crash.code = 1
      crash.explanation = "The processor does not know the instruction"
    // `brk` in place of `ud2` and `int3`: TRAP_BRKPT.
    case _ where signal == 4, "breakpoint":
      (crash.signal, crash.code, crash.address) = (5, 1, .instruction)
    // The upper half of the address space is the kernel's.
    case "non-canonical":
      (crash.code, crash.address) = (1, .exactly(0xdead_beef_dead_beef))
      crash.explanation = "where nothing is mapped"
    default: break
    }
    return crash
  }
}
