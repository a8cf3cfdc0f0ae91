internal import IntermediateDump

/// The registers of one thread.
public enum CPUContext: Sendable, Equatable {
  case x86_64(X86_64Context)
  case arm64(ARM64Context)

  public var instructionPointer: Address {
    switch self {
    case .x86_64(let context): Address(context.rip)
    case .arm64(let context): Address(context.pc)
    }
  }

  public var stackPointer: Address {
    switch self {
    case .x86_64(let context): Address(context.rsp)
    case .arm64(let context): Address(context.sp)
    }
  }

  public var framePointer: Address {
    switch self {
    case .x86_64(let context): Address(context.rbp)
    case .arm64(let context): Address(context.x[29])
    }
  }

  /// The general registers by their usual names, in the order in which GDB prints them.
  public var generalRegisters: [(name: String, value: UInt64)] {
    switch self {
    case .x86_64(let context): context.generalRegisters
    case .arm64(let context): context.generalRegisters
    }
  }

  /// The segment registers by their usual names; none on arm64.
  package var segmentRegisters: [(name: String, value: UInt64)] {
    guard case .x86_64(let context) = self else { return [] }
    return [
      ("cs", UInt64(context.cs)), ("ss", UInt64(context.ss)), ("fs", UInt64(context.fs)),
      ("gs", UInt64(context.gs)),
    ]
  }
}

/// The registers of an x86_64 thread.
///
/// Source: System V ABI AMD64 supplement, 3.2.1; Linux `struct sigcontext_64`; Intel SDM volume 1,
/// 10.5 (FXSAVE area).
public struct X86_64Context: Sendable, Equatable {
  public var rax: UInt64 = 0
  public var rbx: UInt64 = 0
  public var rcx: UInt64 = 0
  public var rdx: UInt64 = 0
  public var rsi: UInt64 = 0
  public var rdi: UInt64 = 0
  public var rbp: UInt64 = 0
  public var rsp: UInt64 = 0
  public var r8: UInt64 = 0
  public var r9: UInt64 = 0
  public var r10: UInt64 = 0
  public var r11: UInt64 = 0
  public var r12: UInt64 = 0
  public var r13: UInt64 = 0
  public var r14: UInt64 = 0
  public var r15: UInt64 = 0
  public var rip: UInt64 = 0
  public var rflags: UInt64 = 0
  public var cs: UInt16 = 0
  public var fs: UInt16 = 0
  public var gs: UInt16 = 0
  public var ss: UInt16 = 0
  /// The XSAVE area, whose first 512 bytes are the FXSAVE area; empty if it was not captured.
  ///
  /// Only the first 512 bytes may be available, for example for a thread that did not crash, or in a snapshot that was
  /// read from a minidump.
  public var floatingPointState: [UInt8] = []

  public init() {}

  var generalRegisters: [(name: String, value: UInt64)] {
    [
      ("rax", rax), ("rbx", rbx), ("rcx", rcx), ("rdx", rdx), ("rsi", rsi), ("rdi", rdi),
      ("rbp", rbp), ("rsp", rsp), ("r8", r8), ("r9", r9), ("r10", r10), ("r11", r11),
      ("r12", r12), ("r13", r13), ("r14", r14), ("r15", r15), ("rip", rip), ("rflags", rflags),
    ]
  }
}

/// The registers of an arm64 thread.
///
/// Source: AAPCS64, 6.1; Linux `struct sigcontext` and `struct fpsimd_context` of arch/arm64.
public struct ARM64Context: Sendable, Equatable {
  /// The registers x0 to x30; always 31 values.
  public var x: [UInt64] = Array(repeating: 0, count: 31)
  public var sp: UInt64 = 0
  public var pc: UInt64 = 0
  public var pstate: UInt64 = 0
  /// The registers v0 to v31, each as 16 little-endian bytes, 512 bytes in total; empty if they were not captured.
  public var vectorRegisters: [UInt8] = []
  public var fpsr: UInt32 = 0
  public var fpcr: UInt32 = 0

  public init() {}

  var generalRegisters: [(name: String, value: UInt64)] {
    x.enumerated().map { ("x\($0.offset)", $0.element) }
      + [("sp", sp), ("pc", pc), ("cpsr", pstate)]
  }
}

extension CPUContext {
  /// Reads registers in the layout of a signal frame; nil if they are missing or too short.
  package init?(
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

  /// The general registers in the layout that `init(architecture:generalRegisters:floatingPointState:)` reads.
  var generalRegisterBytes: [UInt8] {
    let words =
      switch self {
      case .x86_64(let context): context.words
      case .arm64(let context): context.x + [context.sp, context.pc, context.pstate]
      }
    return words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } }
  }

  /// The floating-point state; nil if it was not captured.
  var floatingPointBytes: [UInt8]? {
    switch self {
    case .x86_64(let context):
      context.floatingPointState.isEmpty ? nil : context.floatingPointState
    case .arm64(let context): context.floatingPointBytes
    }
  }
}

extension X86_64Context {
  /// The number of bytes of the FXSAVE area.
  static var legacyAreaSize: Int { 512 }

  /// The index of the error code's word in `gregset_t`; the trap number follows.
  static var errorCodeIndex: Int { 19 }
  static var trapNumberIndex: Int { 20 }

  /// Reads the first 19 words of `gregset_t`, which are the registers.
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
  /// Reads x0 to x30, sp, pc and pstate, which are 34 words of `struct sigcontext`.
  init?(generalRegisters bytes: ArraySlice<UInt8>) {
    guard bytes.count >= 34 * 8 else { return nil }
    let words = (0..<34).map { bytes.littleEndian(at: $0 * 8, width: 8) ?? 0 }
    x = Array(words[..<31])
    (sp, pc, pstate) = (words[31], words[32], words[33])
  }

  /// Reads `struct fpsimd_context`; leaves the registers empty if it is too short, or if its magic number is missing.
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
