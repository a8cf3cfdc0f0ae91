extension CPUContext {
  /// Takes registers as the kernel laid them out in a signal frame; nil where they are missing or
  /// too short.
  init?(
    architecture: ProcessSnapshot.Architecture, generalRegisters: ArraySlice<UInt8>?,
    floatingPointState: ArraySlice<UInt8>?
  ) {
    guard let generalRegisters else { return nil }
    switch architecture {
    case .x86_64:
      guard var context = X86_64Context(generalRegisters: generalRegisters) else { return nil }
      if let area = floatingPointState, area.count >= X86_64Context.legacyAreaSize {
        context.floatingPointState = Array(area)
      }
      self = .x86_64(context)
    case .arm64:
      guard var context = ARM64Context(generalRegisters: generalRegisters) else { return nil }
      if let floatingPointState { context.read(floatingPointState: floatingPointState) }
      self = .arm64(context)
    }
  }

  /// The general registers as they are read.
  var generalRegisterBytes: [UInt8] {
    let words =
      switch self {
      case .x86_64(let context): context.words
      case .arm64(let context): context.x + [context.sp, context.pc, context.pstate]
      }
    return words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } }
  }

  /// The floating-point state as it is read; nil where it was not captured.
  var floatingPointBytes: [UInt8]? {
    switch self {
    case .x86_64(let context):
      context.floatingPointState.isEmpty ? nil : context.floatingPointState
    case .arm64(let context): context.floatingPointBytes
    }
  }
}

extension X86_64Context {
  /// Bytes of the FXSAVE area.
  static var legacyAreaSize: Int { 512 }

  /// The places of trap number and error code in `gregset_t`, in words.
  static var errorCodeIndex: Int { 19 }
  static var trapNumberIndex: Int { 20 }

  /// Reads the first 19 words of `gregset_t`, all that are registers.
  ///
  /// Source: glibc sysdeps/unix/sysv/linux/x86/sys/ucontext.h.
  init?(generalRegisters bytes: ArraySlice<UInt8>) {
    guard bytes.count >= 19 * 8 else { return nil }
    let words = (0..<19).map { bytes.littleEndian(at: $0 * 8, width: 8) ?? 0 }
    (r8, r9, r10, r11) = (words[0], words[1], words[2], words[3])
    (r12, r13, r14, r15) = (words[4], words[5], words[6], words[7])
    (rdi, rsi, rbp, rbx) = (words[8], words[9], words[10], words[11])
    (rdx, rax, rcx, rsp) = (words[12], words[13], words[14], words[15])
    (rip, rflags) = (words[16], words[17])
    cs = UInt16(truncatingIfNeeded: words[18])
    gs = UInt16(truncatingIfNeeded: words[18] >> 16)
    fs = UInt16(truncatingIfNeeded: words[18] >> 32)
    ss = UInt16(truncatingIfNeeded: words[18] >> 48)
  }

  fileprivate var words: [UInt64] {
    [
      r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, rflags,
      UInt64(cs) | UInt64(gs) << 16 | UInt64(fs) << 32 | UInt64(ss) << 48,
    ]
  }
}

extension ARM64Context {
  /// Reads x0 to x30, sp, pc and pstate: 34 words of `struct sigcontext`.
  init?(generalRegisters bytes: ArraySlice<UInt8>) {
    guard bytes.count >= 34 * 8 else { return nil }
    let words = (0..<34).map { bytes.littleEndian(at: $0 * 8, width: 8) ?? 0 }
    x = Array(words[..<31])
    (sp, pc, pstate) = (words[31], words[32], words[33])
  }

  /// Reads `struct fpsimd_context`; leaves the registers empty where its magic number is not there.
  mutating func read(floatingPointState bytes: ArraySlice<UInt8>) {
    guard bytes.count >= 528, bytes.littleEndian(at: 0, width: 4) == 0x4650_8001 else { return }
    fpsr = UInt32(truncatingIfNeeded: bytes.littleEndian(at: 8, width: 4) ?? 0)
    fpcr = UInt32(truncatingIfNeeded: bytes.littleEndian(at: 12, width: 4) ?? 0)
    vectorRegisters = Array(bytes.dropFirst(16).prefix(512))
  }

  fileprivate var floatingPointBytes: [UInt8]? {
    guard vectorRegisters.count == 512 else { return nil }
    let words: [UInt32] = [0x4650_8001, 528, fpsr, fpcr]
    return words.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } }
      + vectorRegisters
  }
}
