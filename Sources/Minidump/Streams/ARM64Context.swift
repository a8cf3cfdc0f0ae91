internal import IntermediateDump
internal import ProcessSnapshot

extension MinidumpEncoder {
  /// The flags for the filled parts of a context; the floating-point part is filled only if all vector registers are
  /// known.
  static func flags(of context: ARM64Context) -> UInt32 {
    let all = MinidumpFormat.arm64Control | MinidumpFormat.arm64Integer
    return context.vectorRegisters.count == 512 ? all | MinidumpFormat.arm64FloatingPoint : all
  }

  /// Appends an MDRawContextARM64, which has 912 bytes and the layout of Microsoft's ARM64_NT_CONTEXT.
  ///
  /// Source: Breakpad `minidump_cpu_arm64.h`.
  mutating func appendARM64Context(_ context: ARM64Context, flags: UInt32) {
    buffer.append(MinidumpFormat.arm64Context | flags)
    buffer.append(UInt32(truncatingIfNeeded: context.pstate))
    for index in 0..<31 { buffer.append(index < context.x.count ? context.x[index] : 0) }
    buffer.append(context.sp)
    buffer.append(context.pc)
    let vectors = context.vectorRegisters
    if vectors.count == 512 { buffer.append(vectors) } else { buffer.appendZeros(512) }
    buffer.append(context.fpcr)
    buffer.append(context.fpsr)
    // The breakpoint and watchpoint registers are zero, because they are not captured.
    buffer.appendZeros(8 * 4 + 8 * 8 + 2 * 4 + 2 * 8)
  }
}

extension MinidumpDecoder {
  /// Reads MDRawContextARM64, with or without its debug registers, or Breakpad's older layout.
  static func decodeARM64Context(_ bytes: ArraySlice<UInt8>) -> DecodedContext {
    func word(_ offset: Int, _ width: Int = 8) -> UInt64 {
      bytes.littleEndian(at: offset, width: width) ?? 0
    }
    var decoded = DecodedContext()
    guard bytes.count >= 272 else { return decoded }
    let isOld =
      bytes.count == MinidumpFormat.arm64OldContextSize
      && word(0) & MinidumpFormat.arm64OldContext != 0
    var flags = UInt32(truncatingIfNeeded: word(0, 4))
    if flags & MinidumpFormat.arm64Parts == 0 {
      flags |= MinidumpFormat.arm64Control | MinidumpFormat.arm64Integer
    }
    guard isOld || flags & MinidumpFormat.arm64Context != 0 else { return decoded }
    if !isOld {
      guard flags & MinidumpFormat.arm64Control != 0 else { return decoded }
      guard flags & MinidumpFormat.arm64Integer != 0 else {
        decoded.stackPointer = Address(word(8 + 31 * 8))
        decoded.instructionPointer = Address(word(8 + 32 * 8))
        return decoded
      }
    }
    var context = ARM64Context()
    context.x = (0..<31).map { word(8 + $0 * 8) }
    context.sp = word(8 + 31 * 8)
    context.pc = word(8 + 32 * 8)
    context.pstate = isOld ? word(272, 4) : word(4, 4)
    if isOld {
      context.fpsr = UInt32(truncatingIfNeeded: word(276, 4))
      context.fpcr = UInt32(truncatingIfNeeded: word(280, 4))
      context.vectorRegisters = Array(bytes.dropFirst(284).prefix(512))
    } else if flags & MinidumpFormat.arm64FloatingPoint != 0,
      bytes.count >= MinidumpFormat.arm64ContextWithoutDebugSize
    {
      context.vectorRegisters = Array(bytes.dropFirst(272).prefix(512))
      context.fpcr = UInt32(truncatingIfNeeded: word(784, 4))
      context.fpsr = UInt32(truncatingIfNeeded: word(788, 4))
    }
    return DecodedContext(.arm64(context))
  }
}
