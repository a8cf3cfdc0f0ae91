internal import IntermediateDump
internal import ProcessSnapshot

extension MinidumpEncoder {
  /// The parts of CONTEXT_AMD64 that a whole set of registers fills.
  static func flags(of context: X86_64Context) -> UInt32 {
    let all =
      MinidumpFormat.amd64Control | MinidumpFormat.amd64Integer | MinidumpFormat.amd64Segments
    return context.floatingPointState.count >= 512 ? all | MinidumpFormat.amd64FloatingPoint : all
  }

  /// CONTEXT_AMD64, 1,232 bytes.
  ///
  /// Source: Microsoft winnt.h, Breakpad `minidump_cpu_amd64.h`.
  mutating func appendAMD64Context(_ context: X86_64Context, flags: UInt32) {
    let area = context.floatingPointState.count >= 512 ? context.floatingPointState : []
    // P1Home to P6Home: for Windows' calling convention.
    buffer.appendZeros(48)
    buffer.append(MinidumpFormat.amd64Context | flags)
    buffer.append(UInt32(truncatingIfNeeded: area[...].littleEndian(at: 24, width: 4) ?? 0))
    // cs, ds, es, fs, gs, ss; the kernel does not save ds and es in a signal frame.
    for segment in [context.cs, 0, 0, context.fs, context.gs, context.ss] { buffer.append(segment) }
    buffer.append(UInt32(truncatingIfNeeded: context.rflags))
    // Debug registers.
    buffer.appendZeros(48)
    for register in [
      context.rax, context.rcx, context.rdx, context.rbx, context.rsp, context.rbp, context.rsi,
      context.rdi, context.r8, context.r9, context.r10, context.r11, context.r12, context.r13,
      context.r14, context.r15, context.rip,
    ] { buffer.append(register) }
    if area.isEmpty { buffer.appendZeros(512) } else { buffer.append(Array(area[..<512])) }
    // Vector registers and control, debug control, last branches: nothing a signal frame has.
    buffer.appendZeros(416 + 6 * 8)
  }
}
