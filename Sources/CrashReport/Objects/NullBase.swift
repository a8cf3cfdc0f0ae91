internal import IntermediateDump
internal import ProcessSnapshot

/// A null register that the faulting instruction used as a base address, with the offset that the instruction added.
///
/// Only instructions that add a constant to one register are decoded, because code reads a property of an object with
/// such an instruction. If the register is null, the constant must be the faulting address. If the constant is
/// another number, the decoded bytes are not the instruction that faulted.
struct NullBase: Equatable {
  let register: String
  let offset: UInt64

  init?(_ exception: ExceptionSnapshot, _ snapshot: ProcessSnapshot) {
    guard let context = exception.context, let address = exception.address else { return nil }
    let place = context.instructionPointer
    let memory: MemoryOperand?
    switch context {
    case .x86_64:
      // Ten bytes are enough for the operand. If the captured memory ends earlier, fewer bytes are tried.
      memory = (4...10).reversed().lazy.compactMap { snapshot.memory.bytes(at: place, count: $0) }
        .first.flatMap { MemoryOperand(x86: Array($0)) }
    case .arm64:
      memory = snapshot.memory.bytes(at: place, count: 4)?
        .littleEndian(at: 0, as: UInt32.self).flatMap(MemoryOperand.init(arm64:))
    }
    guard let memory, memory.displacement == address.value,
      let register = context.generalRegisters.first(where: { $0.name == memory.base }),
      register.value == 0
    else { return nil }
    (self.register, offset) = (register.name, memory.displacement)
  }
}

/// An operand in memory, whose address is the sum of a register and a constant.
struct MemoryOperand: Equatable {
  let base: String
  let displacement: UInt64

  /// - Parameter code: bytes that begin with the instruction.
  ///
  /// Source: Intel SDM volume 2, 2.1 (ModR/M) and 2.2.1 (REX).
  init?(x86 code: [UInt8]) {
    var rest = code[...]
    while let byte = rest.first, [0x66, 0xF2, 0xF3, 0xF0].contains(byte) { rest.removeFirst() }
    var isHigh = false
    if let byte = rest.first, byte & 0xF0 == 0x40 {
      isHigh = byte & 1 == 1
      rest.removeFirst()
    }
    guard var opcode = rest.popFirst() else { return nil }
    if opcode == 0x0F {
      guard let second = rest.popFirst(), Self.secondMap.contains(where: { $0.contains(second) })
      else { return nil }
      opcode = second
    } else if !Self.firstMap.contains(where: { $0.contains(opcode) }) {
      return nil
    }
    guard let mode = rest.popFirst(), mode >> 6 == 1 || mode >> 6 == 2 else { return nil }
    let number = mode & 7
    // If the register's number is 4, a SIB byte follows; the value 0x24 means that there is no index register.
    if number == 4 { guard rest.popFirst() == 0x24 else { return nil } }
    let width = mode >> 6 == 1 ? 1 : 4
    guard let distance = Array(rest).littleEndian(at: 0, width: width),
      distance >> (width == 1 ? 7 : 31) == 0
    else { return nil }
    base = Self.registers[Int(number) + (isHigh ? 8 : 0)]
    displacement = distance
  }

  /// Decodes a load or a store of one register with an unsigned offset; nil for another instruction.
  ///
  /// Source: Arm ARM, C4.1 "Load/store register (unsigned immediate)".
  init?(arm64 word: UInt32) {
    guard word & 0x3F00_0000 == 0x3900_0000 else { return nil }
    base = "x\(word >> 5 & 31)"
    displacement = UInt64(word >> 10 & 0xFFF) << UInt64(word >> 30)
  }

  private static let registers = [
    "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13",
    "r14", "r15",
  ]
  /// Opcodes for arithmetic, moves and calls that are followed by a ModR/M byte and access its operand.
  private static let firstMap: [ClosedRange<UInt8>] = [
    0x00...0x03, 0x08...0x0B, 0x20...0x23, 0x28...0x2B, 0x30...0x33, 0x38...0x3B, 0x63...0x63,
    0x80...0x8B, 0xC6...0xC7, 0xF6...0xF7, 0xFE...0xFF,
  ]
  private static let secondMap: [ClosedRange<UInt8>] = [
    0x10...0x17, 0x28...0x2F, 0x40...0x4F, 0x51...0x6F, 0x7E...0x7F, 0xAF...0xB1, 0xB6...0xB7,
    0xBE...0xC1, 0xD6...0xD6,
  ]
}
