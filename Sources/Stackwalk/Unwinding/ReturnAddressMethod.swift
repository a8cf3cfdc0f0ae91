internal import ProcessSnapshot

/// Finds the caller of a function that had not made its frame when it was interrupted.
///
/// Covers a call of or jump to an address with no code (null call), the first instructions of a
/// function, a bare `ret`, and on arm64 leaf functions. Only for a frame that was interrupted; a
/// frame that made a call is past this.
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
      guard !hasCode || setup != .unknown, let link = state.registers.linkRegister else {
        return .unknown
      }
      return caller(
        returningTo: link, stackPointer: stackPointer, framePointer: state.registers.framePointer,
        state, process)
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

  private func caller(
    returningTo word: UInt64, stackPointer: Address, framePointer: Address?, _ state: UnwindState,
    _ process: UnwindProcess
  ) -> UnwindStep {
    let address = process.codeAddress(word)
    guard process.check(returnAddress: address) != .notBehindCall else { return .unknown }
    let registers = state.registers.caller(
      programCounter: address, stackPointer: stackPointer, framePointer: framePointer)
    return .caller(
      UnwindState(registers: registers, trust: .returnAddress, isReturnAddress: true))
  }
}
