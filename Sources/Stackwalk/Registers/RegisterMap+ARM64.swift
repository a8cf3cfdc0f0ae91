internal import ProcessSnapshot

extension RegisterMap {
  /// x0 to x30, sp and pc.
  ///
  /// Source: AAPCS64, 6.1.1 (registers across calls); DWARF for the Arm 64-bit Architecture, 4.1;
  /// Linux `struct rt_sigframe` and `struct sigcontext` of arch/arm64.
  static let arm64 = RegisterMap(
    count: 33, framePointer: 29, stackPointer: 31, programCounter: 32, linkRegister: 30,
    asyncContext: 22,
    // x19 to x30: a leaf leaves its return address in x30. x18 is the platform's.
    preserved: 0x7FF8_0000,
    // siginfo, then ucontext with its sigcontext at 176: fault address, x0 to x30, sp, pc.
    signalFrameOffsets: (0..<33).map { 128 &+ 176 &+ 8 &+ $0 &* 8 },
    // mov x8, 139; svc 0
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
