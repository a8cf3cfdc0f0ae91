internal import IntermediateDump
internal import ProcessSnapshot

/// The pointer with which the faulting instruction accessed an address near null.
enum NullBase: Equatable {
  /// The base register is null, and the instruction added `offset` to it.
  case null(register: String, offset: UInt64)
  /// The base register contains another value.
  case value(UInt64)
  /// The instruction contains the address.
  case constant
  /// The instruction does not access the address through its registers, or it is not known how.
  case none
  /// The instruction or one of its registers is not known.
  case unknown

  /// - Parameter address: the faulting address.
  init(at address: Address, _ exception: ExceptionSnapshot, _ code: CodeReader) {
    guard let context = exception.context,
      let operands = MemoryOperand.all(at: context, code)
    else {
      self = .unknown
      return
    }
    let registers = Dictionary(
      context.generalRegisters, uniquingKeysWith: { first, _ in first })
    if operands.contains(where: { operand in
      operand.registers.contains { registers[$0] == IntermediateDumpFormat.replacedWord }
    }) {
      self = .unknown
      return
    }
    guard let operand = operands.first(where: { $0.addresses { registers[$0] }.contains(address) })
    else {
      self = .none
      return
    }
    guard let base = operand.base, let value = registers[base] else {
      // An index without a base and without a constant is a pointer that the instruction multiplies by one.
      self = operand.index == nil ? .constant : .none
      return
    }
    self = value == 0 ? .null(register: base, offset: address.value) : .value(value)
  }
}
