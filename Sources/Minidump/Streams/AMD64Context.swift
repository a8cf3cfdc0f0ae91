internal import IntermediateDump
internal import ProcessSnapshot

extension MinidumpEncoder {
  /// Returns the flags for the parts of CONTEXT_AMD64 that `context` fills; floating point counts only if it was
  /// captured.
  static func flags(of context: X86_64Context) -> UInt32 {
    let all =
      MinidumpFormat.amd64Control | MinidumpFormat.amd64Integer | MinidumpFormat.amd64Segments
    return context.floatingPointState.count >= 512 ? all | MinidumpFormat.amd64FloatingPoint : all
  }

  /// Appends a CONTEXT_AMD64, which has 1,232 bytes.
  ///
  /// Source: Microsoft winnt.h, Breakpad `minidump_cpu_amd64.h`.
  mutating func appendAMD64Context(_ context: X86_64Context, flags: UInt32) {
    let area = context.floatingPointState.count >= 512 ? context.floatingPointState : []
    // P1Home to P6Home are 0, because only the calling convention of Windows uses them.
    buffer.appendZeros(48)
    buffer.append(MinidumpFormat.amd64Context | flags)
    buffer.append(UInt32(truncatingIfNeeded: area[...].littleEndian(at: 24, width: 4) ?? 0))
    // The segment registers are cs, ds, es, fs, gs and ss; the kernel does not save ds and es in a signal frame, so 0
    // is written for these two.
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
    // VectorRegister, VectorControl, DebugControl, and the fields for the last branch and the last exception stay zero,
    // because a signal frame does not contain them.
    buffer.appendZeros(416 + 6 * 8)
  }
}

extension MinidumpDecoder {
  /// Reads a CONTEXT_AMD64, which may be followed by an XSTATE area, or may end after the general registers.
  static func decodeAMD64Context(_ bytes: ArraySlice<UInt8>) -> DecodedContext {
    func word(_ offset: Int, _ width: Int = 8) -> UInt64 {
      bytes.littleEndian(at: offset, width: width) ?? 0
    }
    var decoded = DecodedContext()
    var flags = UInt32(truncatingIfNeeded: word(48, 4))
    if flags & MinidumpFormat.amd64Parts == 0 {
      flags |= MinidumpFormat.amd64Control | MinidumpFormat.amd64Integer
    }
    guard bytes.count >= 256, flags & MinidumpFormat.amd64Context != 0,
      flags & MinidumpFormat.amd64Control != 0
    else { return decoded }
    guard flags & MinidumpFormat.amd64Integer != 0 else {
      decoded.stackPointer = Address(word(152))
      decoded.instructionPointer = Address(word(248))
      return decoded
    }
    var context = X86_64Context()
    context.cs = UInt16(truncatingIfNeeded: word(56, 2))
    context.fs = UInt16(truncatingIfNeeded: word(62, 2))
    context.gs = UInt16(truncatingIfNeeded: word(64, 2))
    context.ss = UInt16(truncatingIfNeeded: word(66, 2))
    context.rflags = word(68, 4)
    (context.rax, context.rcx, context.rdx, context.rbx) = (
      word(120), word(128), word(136), word(144)
    )
    (context.rsp, context.rbp, context.rsi, context.rdi) = (
      word(152), word(160), word(168), word(176)
    )
    (context.r8, context.r9, context.r10, context.r11) = (
      word(184), word(192), word(200), word(208)
    )
    (context.r12, context.r13, context.r14, context.r15) = (
      word(216), word(224), word(232), word(240)
    )
    context.rip = word(248)
    if flags & MinidumpFormat.amd64FloatingPoint != 0, bytes.count >= 768 {
      context.floatingPointState = Array(bytes.dropFirst(256).prefix(512))
    }
    return DecodedContext(.x86_64(context))
  }
}
