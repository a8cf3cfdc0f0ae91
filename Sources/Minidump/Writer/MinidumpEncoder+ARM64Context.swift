internal import ProcessSnapshot

extension MinidumpEncoder {
  /// The parts of the context that a whole set of registers fills.
  static func flags(of context: ARM64Context) -> UInt32 {
    let all = MinidumpFormat.arm64Control | MinidumpFormat.arm64Integer
    return context.vectorRegisters.count == 512 ? all | MinidumpFormat.arm64FloatingPoint : all
  }

  /// MDRawContextARM64, 912 bytes, the layout of Microsoft's ARM64_NT_CONTEXT.
  ///
  /// Source: Breakpad `minidump_cpu_arm64.h`.
  mutating func appendARM64Context(_ context: ARM64Context, flags: UInt32) {
    buffer.append(MinidumpFormat.arm64Context | flags)
    buffer.append(UInt32(truncatingIfNeeded: context.pstate))
    for index in 0..<31 { buffer.append(index < context.x.count ? context.x[index] : 0) }
    buffer.append(context.sp)
    buffer.append(context.pc)
    if context.vectorRegisters.count == 512 {
      buffer.append(context.vectorRegisters)
    } else {
      buffer.appendZeros(512)
    }
    buffer.append(context.fpcr)
    buffer.append(context.fpsr)
    // Breakpoint and watchpoint registers.
    buffer.appendZeros(8 * 4 + 8 * 8 + 2 * 4 + 2 * 8)
  }
}
