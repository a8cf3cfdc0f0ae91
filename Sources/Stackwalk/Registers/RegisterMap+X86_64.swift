internal import ProcessSnapshot

extension RegisterMap {
  /// rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 to r15, and the return address column.
  ///
  /// Source: System V ABI AMD64 supplement, figures 3.4 (registers across calls) and 3.36 (DWARF
  /// numbers); Linux `struct rt_sigframe` and `struct sigcontext_64` of arch/x86.
  static let x86_64 = RegisterMap(
    count: 17, framePointer: 6, stackPointer: 7, programCounter: 16, linkRegister: nil,
    asyncContext: 14,
    // rbx, rbp, r12 to r15.
    preserved: 1 << 3 | 1 << 6 | 0xF000,
    // ucontext at once, its registers 40 bytes on: r8 to r15, rdi, rsi, rbp, rbx, rdx, rax, rcx,
    // rsp, rip.
    signalFrameOffsets: [13, 12, 14, 11, 9, 8, 10, 15, 0, 1, 2, 3, 4, 5, 6, 7, 16]
      .map { 40 &+ $0 &* 8 },
    // mov rax, 15; syscall
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
