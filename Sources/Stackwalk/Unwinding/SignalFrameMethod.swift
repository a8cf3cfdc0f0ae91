internal import ProcessSnapshot

/// Crosses a signal handler: the kernel left the interrupted registers on the stack.
///
/// Source: Linux `struct rt_sigframe` and `struct ucontext` of arch/x86 and arch/arm64.
struct SignalFrameMethod: UnwindMethod {
  func step(from state: UnwindState, in process: UnwindProcess) -> UnwindStep {
    guard state.isReturnAddress, let address = state.registers.programCounter,
      let stackPointer = state.registers.stackPointer, Self.isTrampoline(at: address, in: process)
    else { return .unknown }
    var interrupted = UnwindRegisters(map: process.registers)
    for (number, offset) in process.registers.signalFrameOffsets.enumerated() {
      interrupted[number] = process.word(at: stackPointer &+ offset)
    }
    guard interrupted.programCounter != nil, interrupted.stackPointer != nil else {
      return .unknown
    }
    return .caller(
      UnwindState(registers: interrupted, trust: .signalFrame, isReturnAddress: false))
  }

  /// True if an address is that of a trampoline, which no call comes before.
  static func isTrampoline(at address: Address, in process: UnwindProcess) -> Bool {
    let trampoline = process.registers.signalTrampoline
    guard process.isExecutable(address) else { return false }
    return process.code(at: address, count: trampoline.count) == trampoline
  }
}
