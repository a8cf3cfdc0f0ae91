internal import ProcessSnapshot

/// Follows the call frame information that compilers write for exceptions and debuggers.
///
/// It tells for every instruction where the caller's registers are, so that nothing is guessed; it
/// can still be led astray by a damaged stack, and then the other methods are asked. Source: DWARF
/// 5, 6.4.3 (call frame instruction usage).
struct CallFrameMethod: UnwindMethod {
  func step(from state: UnwindState, in process: UnwindProcess) -> UnwindStep {
    guard let lookup = state.lookupAddress, let row = process.frameRow(at: lookup) else {
      return .unknown
    }
    let context = FrameContext(registers: state.registers, process: process, loadBias: row.loadBias)
    if row.rules[row.returnAddressRegister] == .undefined { return .bottom }
    guard let frameAddress = context.frameAddress(row),
      let word = context.value(of: row.returnAddressRegister, row, frameAddress)
    else { return .unknown }
    let returnAddress = process.codeAddress(word)
    // What calls nothing leaves behind: the first function of a coroutine or of hand-made stacks.
    if returnAddress == 0, !row.isSignalFrame { return .bottom }
    guard row.isSignalFrame || isPlausible(returnAddress, in: process) else { return .unknown }
    var caller = UnwindRegisters(map: process.registers)
    for number in 0..<process.registers.count {
      caller[number] = context.value(of: number, row, frameAddress)
    }
    caller.programCounter = returnAddress
    if row.rules[process.registers.stackPointer] == .unspecified {
      caller.stackPointer = frameAddress
    }
    if let saved = caller.framePointer { caller.framePointer = FrameRecord.withoutMark(saved) }
    return .caller(
      UnwindState(
        registers: caller, trust: row.isSignalFrame ? .signalFrame : .callFrameInformation,
        isReturnAddress: !row.isSignalFrame))
  }

  /// The stack pointer before the call that made a frame; nil where it is not described.
  func frameAddress(of state: UnwindState, in process: UnwindProcess) -> Address? {
    guard let lookup = state.lookupAddress, let row = process.frameRow(at: lookup) else {
      return nil
    }
    return FrameContext(registers: state.registers, process: process, loadBias: row.loadBias)
      .frameAddress(row)
  }

  /// Whether a return address is one: behind a call, a signal handler's return, or a function that
  /// is there to be returned to and has no caller, as makecontext(3) leaves it.
  private func isPlausible(_ address: Address, in process: UnwindProcess) -> Bool {
    if process.check(returnAddress: address) != .notBehindCall { return true }
    if SignalFrameMethod.isTrampoline(at: address, in: process) { return true }
    guard process.isExecutable(address), let row = process.frameRow(at: address &- 1) else {
      return false
    }
    return row.isSignalFrame || row.rules[row.returnAddressRegister] == .undefined
  }
}

/// The registers and the memory that the rules of one frame refer to.
private struct FrameContext: ExpressionContext {
  let registers: UnwindRegisters
  let process: UnwindProcess
  let loadBias: UInt64

  func register(_ number: UInt64) -> UInt64? {
    Int(exactly: number).flatMap { registers[$0] }
  }

  func memory(at address: UInt64, width: Int) -> UInt64? {
    process.number(at: Address(address), width: width)
  }

  func spend() -> Bool { process.spend(1) }

  /// The canonical frame address: the stack pointer before the call.
  func frameAddress(_ row: FrameRow) -> Address? {
    let word =
      switch row.frameAddress {
      case .register(let number, let offset):
        register(number).map { $0 &+ UInt64(bitPattern: offset) }
      case .expression(let bytes): DWARFExpression.evaluate(bytes, initial: [], in: self)
      case nil: nil as UInt64?
      }
    return word.map { Address($0) }
  }

  /// What a register holds in the caller.
  func value(of number: Int, _ row: FrameRow, _ frameAddress: Address) -> UInt64? {
    switch row.rules[number] {
    case .unspecified: process.registers.isPreserved(number) ? registers[number] : nil
    case .undefined: nil
    case .sameValue: registers[number]
    case .offset(let offset): process.word(at: frameAddress &+ UInt64(bitPattern: offset))
    case .valueOffset(let offset): (frameAddress &+ UInt64(bitPattern: offset)).value
    case .register(let other): register(other)
    case .expression(let bytes):
      DWARFExpression.evaluate(bytes, initial: [frameAddress.value], in: self)
        .flatMap { process.word(at: Address($0)) }
    case .valueExpression(let bytes):
      DWARFExpression.evaluate(bytes, initial: [frameAddress.value], in: self)
    }
  }
}
