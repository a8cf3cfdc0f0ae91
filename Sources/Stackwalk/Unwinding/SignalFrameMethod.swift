internal import ProcessSnapshot

/// Crosses a signal handler: the kernel left the interrupted registers on the stack.
///
/// Source: Linux `struct rt_sigframe` and `struct ucontext` of arch/x86 and arch/arm64.
struct SignalFrameMethod: UnwindMethod {
  func step(from state: UnwindState, in process: UnwindProcess) -> UnwindStep {
    guard state.isReturnAddress, let address = state.registers.programCounter,
      let stackPointer = state.registers.stackPointer,
      let code = process.code(at: address, count: Self.trampolineSize(process)),
      Self.isTrampoline(code, process)
    else { return .unknown }
    // Offsets from the stack pointer of the trampoline to saved registers.
    let offsets: (programCounter: UInt64, stackPointer: UInt64, framePointer: UInt64) =
      switch process.architecture {
      // ucontext at once; gregs at 40; rbp, rsp, rip are its 10th, 15th and 16th.
      case .x86_64: (40 + 16 * 8, 40 + 15 * 8, 40 + 10 * 8)
      // siginfo, then ucontext, its sigcontext at 176; fault address, x0 to x30, sp, pc.
      case .arm64: (128 + 176 + 8 + 32 * 8, 128 + 176 + 8 + 31 * 8, 128 + 176 + 8 + 29 * 8)
      }
    guard let programCounter = process.word(at: stackPointer &+ offsets.programCounter),
      let interrupted = process.word(at: stackPointer &+ offsets.stackPointer),
      let framePointer = process.word(at: stackPointer &+ offsets.framePointer)
    else { return .unknown }
    let registers = state.registers.caller(
      programCounter: programCounter, stackPointer: interrupted, framePointer: framePointer)
    return .caller(
      UnwindState(registers: registers, trust: .signalFrame, isReturnAddress: false))
  }

  private static func trampolineSize(_ process: UnwindProcess) -> Int {
    process.architecture == .x86_64 ? 9 : 8
  }

  /// `mov rax, 15; syscall`, or `mov x8, 139; svc 0`: rt_sigreturn.
  static func isTrampoline(_ code: [UInt8], _ process: UnwindProcess) -> Bool {
    switch process.architecture {
    case .x86_64: code == [0x48, 0xC7, 0xC0, 0x0F, 0, 0, 0, 0x0F, 0x05]
    case .arm64: code == [0x68, 0x11, 0x80, 0xD2, 0x01, 0, 0, 0xD4]
    }
  }

  /// True if an address is that of a trampoline, which no call comes before.
  static func isTrampoline(at address: UInt64, in process: UnwindProcess) -> Bool {
    guard process.isExecutable(address),
      let code = process.code(at: address, count: trampolineSize(process))
    else { return false }
    return isTrampoline(code, process)
  }
}
