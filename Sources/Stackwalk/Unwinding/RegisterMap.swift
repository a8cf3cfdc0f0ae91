internal import ProcessSnapshot

/// The DWARF numbers and the roles of one architecture's registers.
struct RegisterMap: Sendable {
  /// The number of registers that are tracked, starting with number 0; higher numbers are, for example, vector
  /// registers.
  let count: Int
  let framePointer: Int
  let stackPointer: Int
  let programCounter: Int
  /// The link register; nil on an architecture where calls push the return address.
  let linkRegister: Int?
  /// The register that contains the async context when an asynchronous Swift function begins.
  let asyncContext: Int
  /// The registers that calls preserve, as a mask with bit n for register n.
  let preserved: UInt64
  /// For each register of the interrupted code, the offset of its saved value from the stack pointer when a signal
  /// handler returns.
  let signalFrameOffsets: [UInt64]
  /// The code to which a signal handler returns, which calls rt_sigreturn.
  let signalTrampoline: [UInt8]

  func isPreserved(_ register: Int) -> Bool {
    register < 64 && preserved & 1 << UInt64(register) != 0
  }
}

extension RegisterMap {
  init(_ architecture: ProcessSnapshot.Architecture) {
    self = architecture == .arm64 ? .arm64 : .x86_64
  }

  /// The registers rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 to r15, and the return address.
  ///
  /// Source: System V ABI AMD64 supplement, figures 3.4 (registers across calls) and 3.36 (DWARF numbers).
  /// Source: Linux `struct rt_sigframe` and `struct sigcontext_64` of arch/x86.
  static let x86_64 = RegisterMap(
    count: 17, framePointer: 6, stackPointer: 7, programCounter: 16, linkRegister: nil,
    asyncContext: 14,
    // The preserved registers are rbx, rbp and r12 to r15.
    preserved: 1 << 3 | 1 << 6 | 0xF000,
    // When the handler has returned to the trampoline, the stack pointer points to the ucontext, whose registers start
    // at byte 40: r8 to r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip.
    signalFrameOffsets: [13, 12, 14, 11, 9, 8, 10, 15, 0, 1, 2, 3, 4, 5, 6, 7, 16]
      .map { 40 &+ $0 &* 8 },
    // The code is: mov rax, 15 (the number of rt_sigreturn); syscall.
    signalTrampoline: [0x48, 0xC7, 0xC0, 0x0F, 0, 0, 0, 0x0F, 0x05])
}

extension UnwindRegisters {
  init(_ context: X86_64Context) {
    self.init(map: .x86_64)
    let inOrder = [
      context.rax, context.rdx, context.rcx, context.rbx, context.rsi, context.rdi, context.rbp,
      context.rsp, context.r8, context.r9, context.r10, context.r11, context.r12, context.r13,
      context.r14, context.r15, context.rip,
    ]
    for (number, value) in inOrder.enumerated() { self[number] = value }
  }
}

extension RegisterMap {
  /// The registers x0 to x30, sp and pc.
  ///
  /// Source: AAPCS64, 6.1.1 (registers across calls); DWARF for the Arm 64-bit Architecture, 4.1.
  /// Source: Linux `struct rt_sigframe` and `struct sigcontext` of arch/arm64.
  static let arm64 = RegisterMap(
    count: 33, framePointer: 29, stackPointer: 31, programCounter: 32, linkRegister: 30,
    asyncContext: 22,
    // The preserved registers are x19 to x30; x30 is included because a leaf function keeps its return address there.
    // x18 is not included, because it is reserved for the platform.
    preserved: 0x7FF8_0000,
    // A signal frame begins with the siginfo, which has 128 bytes. The ucontext follows. At its byte 176 is the
    // sigcontext: the fault address, x0 to x30, sp, pc.
    signalFrameOffsets: (0..<33).map { 128 &+ 176 &+ 8 &+ $0 &* 8 },
    // The code is: mov x8, 139; svc 0.
    signalTrampoline: [0x68, 0x11, 0x80, 0xD2, 0x01, 0, 0, 0xD4])
}

extension UnwindRegisters {
  init(_ context: ARM64Context) {
    self.init(map: .arm64)
    for (number, value) in context.x.prefix(31).enumerated() { self[number] = value }
    self[31] = context.sp
    self[32] = context.pc
  }
}
