internal import ProcessSnapshot

/// Finds the caller with call frame information, which describes where the caller's registers are at every
/// instruction.
///
/// If the result is not plausible, for example on a damaged stack, other methods are tried.
///
/// Source: DWARF 5, 6.4.3 (call frame instruction usage).
struct CFIMethod: UnwindMethod {
  func step(from state: UnwindState, in process: UnwindProcess) -> UnwindStep {
    guard let lookup = state.lookupAddress, let row = process.cfiRow(at: lookup) else {
      return .unknown
    }
    let context = FrameContext(registers: state.registers, process: process, loadBias: row.loadBias)
    if row.rules[row.returnAddressRegister] == .undefined { return .bottom }
    guard let cfa = context.cfa(row),
      let word = context.value(of: row.returnAddressRegister, row, cfa)
    else { return .unknown }
    let returnAddress = process.codeAddress(word)
    // A return address of 0 means that the frame belongs to the first function of a coroutine, or of a stack that the
    // program set up itself.
    if returnAddress == 0, !row.isSignalFrame { return .bottom }
    guard row.isSignalFrame || isPlausible(returnAddress, in: process) else { return .unknown }
    var caller = UnwindRegisters(map: process.registers)
    for number in 0..<process.registers.count {
      caller[number] = context.value(of: number, row, cfa)
    }
    caller.programCounter = returnAddress
    if row.rules[process.registers.stackPointer] == .unspecified {
      caller.stackPointer = cfa
    }
    if let saved = caller.framePointer { caller.framePointer = FrameRecord.withoutMark(saved) }
    return .caller(
      UnwindState(
        registers: caller, trust: row.isSignalFrame ? .signalFrame : .callFrameInformation,
        isReturnAddress: !row.isSignalFrame))
  }

  /// Computes the canonical frame address (CFA) of a frame, which is the caller's stack pointer before the call.
  func cfa(of state: UnwindState, in process: UnwindProcess) -> Address? {
    guard let lookup = state.lookupAddress, let row = process.cfiRow(at: lookup) else {
      return nil
    }
    return FrameContext(registers: state.registers, process: process, loadBias: row.loadBias)
      .cfa(row)
  }

  /// Checks whether a return address is plausible.
  ///
  /// Four kinds of return addresses are plausible:
  ///
  /// - the address after a call
  /// - an address in code that neither the dump nor a file contains
  /// - the address of a signal trampoline
  /// - the start of a function that makecontext(3) set as a return address
  private func isPlausible(_ address: Address, in process: UnwindProcess) -> Bool {
    if process.check(returnAddress: address) != .notBehindCall { return true }
    if SignalFrameMethod.isTrampoline(at: address, in: process) { return true }
    guard process.isExecutable(address), let row = process.cfiRow(at: address &- 1) else {
      return false
    }
    return row.isSignalFrame || row.rules[row.returnAddressRegister] == .undefined
  }
}

/// The registers and the memory to which rules and expressions refer.
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

  func cfa(_ row: CFIRow) -> Address? {
    let word =
      switch row.cfa {
      case .register(let number, let offset):
        register(number).map { $0 &+ UInt64(bitPattern: offset) }
      case .expression(let bytes): DWARFExpression.evaluate(bytes, initial: [], in: self)
      case nil: nil as UInt64?
      }
    return word.map { Address($0) }
  }

  /// Computes the caller's value of a register from the rule for the register; nil if the value is not known.
  func value(of number: Int, _ row: CFIRow, _ cfa: Address) -> UInt64? {
    switch row.rules[number] {
    case .unspecified: process.registers.isPreserved(number) ? registers[number] : nil
    case .undefined: nil
    case .sameValue: registers[number]
    case .offset(let offset): process.word(at: cfa &+ UInt64(bitPattern: offset))
    case .valueOffset(let offset): (cfa &+ UInt64(bitPattern: offset)).value
    case .register(let other): register(other)
    case .expression(let bytes):
      DWARFExpression.evaluate(bytes, initial: [cfa.value], in: self)
        .flatMap { process.word(at: Address($0)) }
    case .valueExpression(let bytes):
      DWARFExpression.evaluate(bytes, initial: [cfa.value], in: self)
    }
  }
}
