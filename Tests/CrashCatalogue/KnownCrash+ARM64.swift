extension KnownCrash {
  /// The size of a signal frame on arm64 without SVE, in bytes.
  static let signalFrameOfARM64 = 4720

  /// The same crash on arm64; nil if it is impossible there.
  ///
  /// Source: Linux arch/arm64/kernel/traps.c and debug-monitors.c.
  public var onARM64: KnownCrash? {
    var crash = self
    switch kind {
    // On arm64 the result of a division by zero is 0, and programs cannot turn on alignment checks.
    case "divide-by-zero", "misaligned": return nil
    case "illegal-instruction":
      crash.code = 1
      crash.explanation = "The processor does not know the instruction"
    // `brk` replaces `ud2` and `int3`: TRAP_BRKPT.
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
