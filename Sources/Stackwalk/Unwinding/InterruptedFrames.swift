internal import ProcessSnapshot

/// Continues past a signal handler with the registers that the kernel saved on the stack.
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

  /// Recognizes the code to which signal handlers return.
  ///
  /// The code is recognized by its bytes, because its address, unlike other return addresses, does not follow a call.
  static func isTrampoline(at address: Address, in process: UnwindProcess) -> Bool {
    process.trampolines.value(at: address) {
      let trampoline = process.registers.signalTrampoline
      guard process.isExecutable(address) else { return false }
      return process.code(at: address, count: trampoline.count) == trampoline
    }
  }
}

/// Finds the caller of a function that had no frame record when it was interrupted.
///
/// A function has no frame record in its first instructions and at its `ret` instruction. A frame record is also
/// missing after a call to an address without code, such as a null pointer. On arm64, leaf functions have no frame
/// record; some of their callers are found even if the module's file is missing.
struct ReturnAddressMethod: UnwindMethod {
  func step(from state: UnwindState, in process: UnwindProcess) -> UnwindStep {
    guard !state.isReturnAddress, process.knowsCode, let address = state.registers.programCounter,
      let stackPointer = state.registers.stackPointer
    else { return .unknown }
    let hasCode = process.isExecutable(address)
    let setup = hasCode ? process.frameSetup(around: address) : .unknown
    switch process.architecture {
    case .arm64:
      if case .present(let saved, _) = setup, address > saved { return .unknown }
      guard let link = state.registers.linkRegister,
        let size = hasCode && setup == .unknown
          ? leafSize(of: state, at: address, link, process) : 0
      else { return .unknown }
      return caller(
        returningTo: link, stackPointer: stackPointer &+ size,
        framePointer: state.registers.framePointer, state, process)
    case .x86_64:
      var returnSlot: Address?
      var framePointer = state.registers.framePointer
      if !hasCode || process.code(at: address, count: 1) == [0xC3] {
        returnSlot = stackPointer
      } else if case .present(let saved, let done) = setup, address < done {
        let isSaved = address > saved
        returnSlot = isSaved ? stackPointer &+ 8 : stackPointer
        if isSaved { framePointer = process.word(at: stackPointer).map { Address($0) } }
      }
      guard let returnSlot, let target = process.word(at: returnSlot) else { return .unknown }
      return caller(
        returningTo: target, stackPointer: returnSlot &+ 8, framePointer: framePointer,
        state, process)
    }
  }

  /// An address at most this many bytes from a system call counts as part of the libc function that makes the call.
  private static let wrapperSize: UInt64 = 4096

  /// The number of bytes that an arm64 function without unwind tables has on the stack.
  ///
  /// The result is nil unless the link register is known to contain the return address to the caller. If the function's
  /// code is available, the code shows whether the register contains that address, and how many bytes are on the stack.
  /// Otherwise, only the value of the register can show it, and the number of bytes is assumed to be 0.
  ///
  /// After a call that the function made, the link register contains an address in the function itself. If the link
  /// register contains an address in another module, this address therefore belongs to the caller. If the thread is in
  /// a system call, the function is a small wrapper around that call, so a distant address in the same module belongs
  /// to the caller too.
  private func leafSize(
    of state: UnwindState, at address: Address, _ link: UInt64, _ process: UnwindProcess
  ) -> UInt64? {
    if let code = process.code(at: address, count: LeafReturn.codeSize)
      ?? process.code(at: address, count: 16)
    {
      return LeafReturn.stackSize(code)
    }
    let target = process.codeAddress(link)
    let caller = process.snapshot.module(containing: target)
    guard let caller, let own = process.snapshot.module(containing: address) else { return nil }
    if caller.address != own.address { return 0 }
    let distance =
      target > address ? target.value &- address.value : address.value &- target.value
    return state.isInSystemCall && distance > Self.wrapperSize ? 0 : nil
  }

  private func caller(
    returningTo word: UInt64, stackPointer: Address, framePointer: Address?, _ state: UnwindState,
    _ process: UnwindProcess
  ) -> UnwindStep {
    let address = process.codeAddress(word)
    guard process.check(returnAddress: address) != .notBehindCall else { return .unknown }
    return .caller(
      state.caller(
        at: address, stackPointer: stackPointer, framePointer: framePointer, .returnAddress))
  }
}
