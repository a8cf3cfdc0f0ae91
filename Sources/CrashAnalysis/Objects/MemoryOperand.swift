internal import IntermediateDump
internal import ProcessSnapshot

/// An operand in memory, whose address is the sum of a base register, an index register and a constant.
struct MemoryOperand: Equatable {
  struct IndexRegister: Equatable {
    var register: String
    /// The number of bits by which the register's value is shifted to the left.
    var shift: UInt8
    /// How much of the register's value is used.
    var extent = Extent.whole
  }

  enum Extent: Equatable { case whole, zeroExtendedWord, signExtendedWord }

  /// The register that contains the pointer; nil if the instruction contains the whole address.
  var base: String?
  var index: IndexRegister?
  /// The constant, as two's complement.
  var displacement: UInt64 = 0
  /// True if the constant is a multiple of the size of the operand, and the size is not known.
  ///
  /// Source: Intel SDM volume 2, 2.7.5 (Compressed Displacement).
  var isScaled = false

  /// The operands of the instruction at which a thread was; nil if its bytes are not known.
  ///
  /// The result is empty if the instruction is not known to access memory through its registers. An instruction such
  /// as `rep movs` has two operands.
  static func all(at context: CPUContext, _ code: CodeReader) -> [MemoryOperand]? {
    switch context {
    case .x86_64(let context):
      return code.bytes(at: Address(context.rip), upTo: 15).map { all(x86: $0) }
    case .arm64(let context):
      return code.bytes(at: Address(context.pc), count: 4)?.littleEndian(at: 0, as: UInt32.self)
        .map { MemoryOperand(arm64: $0).map { [$0] } ?? [] }
    }
  }

  /// The registers from which the address is computed.
  var registers: [String] { [base, index?.register].compactMap(\.self) }

  /// The addresses that the operand can have; empty if a register is not known.
  func addresses(_ value: (String) -> UInt64?) -> [Address] {
    guard let base = base.map(value) ?? 0, let index = index.map({ $0.value(value) }) ?? 0 else {
      return []
    }
    return (isScaled ? 0...6 : 0...0).map { shift in
      Address(base &+ index &+ (displacement << UInt64(shift)))
    }
  }
}

extension MemoryOperand.IndexRegister {
  fileprivate func value(_ value: (String) -> UInt64?) -> UInt64? {
    value(register).map {
      switch extent {
      case .whole: $0 << UInt64(shift)
      case .zeroExtendedWord: ($0 & 0xFFFF_FFFF) << UInt64(shift)
      case .signExtendedWord: $0.signExtended(from: 32) << UInt64(shift)
      }
    }
  }
}

extension UInt64 {
  /// The lowest bits of the number as a signed number, in two's complement of 64 bits.
  fileprivate func signExtended(from bits: UInt64) -> UInt64 {
    let unused: UInt64 = 64 &- bits
    return UInt64(bitPattern: Int64(bitPattern: self << unused) >> unused)
  }
}

// MARK: - x86_64

extension MemoryOperand {
  /// - Parameter code: bytes that begin with the instruction.
  ///
  /// Source: Intel SDM volume 2, 2.1 (ModR/M and SIB), 2.2.1 (REX), 2.3.5 (VEX), 2.7.1 (EVEX) and appendix A (opcodes).
  static func all(x86 code: [UInt8]) -> [MemoryOperand] {
    var rest = code[...]
    while let byte = rest.first, prefixes.contains(byte) { rest.removeFirst() }
    guard var opcode = rest.popFirst() else { return [] }
    var (map, isWide, extension_) = (0, false, (base: false, index: false))
    switch opcode {
    case 0xC5:
      guard rest.popFirst() != nil else { return [] }
      map = 1
    case 0xC4, 0x62:
      guard let first = rest.popFirst(), rest.popFirst() != nil else { return [] }
      if opcode == 0x62 { guard rest.popFirst() != nil else { return [] } }
      map = Int(first & (opcode == 0xC4 ? 0x1F : 7))
      extension_ = (first & 0x20 == 0, first & 0x40 == 0)
      isWide = opcode == 0x62
    default:
      if opcode & 0xF0 == 0x40 {
        extension_ = (opcode & 1 != 0, opcode & 2 != 0)
        guard let next = rest.popFirst() else { return [] }
        opcode = next
      }
      if let operands = string(opcode) { return operands }
      if opcode == 0x0F {
        guard let next = rest.first else { return [] }
        map = next == 0x38 ? 2 : next == 0x3A ? 3 : 1
        if map > 1 { rest.removeFirst() }
      } else if !firstMap.contains(where: { $0.contains(opcode) }) {
        return []
      }
    }
    if map > 0 {
      guard let next = rest.popFirst() else { return [] }
      if map == 1, withoutOperand.contains(where: { $0.contains(next) }) { return [] }
      if map == 2, gathers.contains(where: { $0.contains(next) }) { return [] }
    }
    return operand(rest, extension_, isWide: isWide).map { [$0] } ?? []
  }

  /// - Parameter rest: the bytes from the ModR/M byte on.
  private static func operand(
    _ rest: ArraySlice<UInt8>, _ extension_: (base: Bool, index: Bool), isWide: Bool
  ) -> MemoryOperand? {
    var rest = rest
    guard let mode = rest.popFirst(), mode < 0xC0 else { return nil }
    var operand = MemoryOperand()
    var number = mode & 7
    var hasBase = true
    // If the register's number is 4, a SIB byte follows; the index 4 means that there is no index register.
    if number == 4 {
      guard let sib = rest.popFirst() else { return nil }
      let index = Int(sib >> 3 & 7) + (extension_.index ? 8 : 0)
      if index != 4 { operand.index = IndexRegister(register: registers[index], shift: sib >> 6) }
      number = sib & 7
      hasBase = number != 5 || mode >= 0x40
    } else if number == 5, mode < 0x40 {
      // The address is relative to the instruction.
      return nil
    }
    if hasBase { operand.base = registers[Int(number) + (extension_.base ? 8 : 0)] }
    let width = mode >= 0x80 || !hasBase ? 4 : mode >= 0x40 ? 1 : 0
    if width > 0 {
      guard let distance = Array(rest).littleEndian(at: 0, width: width) else { return nil }
      operand.displacement = distance.signExtended(from: UInt64(8 * width))
    }
    operand.isScaled = isWide && width == 1
    return operand
  }

  /// The operands of movs, cmps, stos, lods and scas; nil for another instruction.
  private static func string(_ opcode: UInt8) -> [MemoryOperand]? {
    switch opcode {
    case 0xA4...0xA7: [MemoryOperand(base: "rdi"), MemoryOperand(base: "rsi")]
    case 0xAA, 0xAB, 0xAE, 0xAF: [MemoryOperand(base: "rdi")]
    case 0xAC, 0xAD: [MemoryOperand(base: "rsi")]
    default: nil
    }
  }

  private static let registers = [
    "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13",
    "r14", "r15",
  ]
  /// The prefixes before which an operand has the same address as without them: not those of fs and gs, and not the one
  /// for addresses of 32 bits.
  private static let prefixes: Set<UInt8> = [0x66, 0xF2, 0xF3, 0xF0, 0x26, 0x2E, 0x36, 0x3E]
  /// Opcodes of one byte that are followed by a ModR/M byte and access its operand.
  private static let firstMap: [ClosedRange<UInt8>] = [
    0x00...0x03, 0x08...0x0B, 0x10...0x13, 0x18...0x1B, 0x20...0x23, 0x28...0x2B, 0x30...0x33,
    0x38...0x3B, 0x63...0x63, 0x69...0x69, 0x6B...0x6B, 0x80...0x8C, 0x8E...0x8F, 0xC0...0xC1,
    0xC6...0xC7, 0xD0...0xD3, 0xD8...0xDF, 0xF6...0xF7, 0xFE...0xFF,
  ]
  /// Opcodes after the byte 0F that have no ModR/M byte, or that only prefetch or skip their operand.
  private static let withoutOperand: [ClosedRange<UInt8>] = [
    0x04...0x0E, 0x18...0x1F, 0x30...0x37, 0x77...0x77, 0x80...0x8F, 0xA0...0xA2, 0xA8...0xAA,
    0xC8...0xCF,
  ]
  /// Opcodes after the bytes 0F 38 whose index is a vector register.
  private static let gathers: [ClosedRange<UInt8>] = [0x90...0x93, 0xA0...0xA3, 0xC6...0xC7]
}

// MARK: - arm64

extension MemoryOperand {
  /// Decodes a load or a store; nil for another instruction.
  ///
  /// Source: Arm ARM, C4.1.94 (Loads and Stores); C6.2 (DC ZVA).
  init?(arm64 word: UInt32) {
    func field(_ low: UInt32, _ bits: UInt32) -> UInt64 { UInt64(word >> low & ((1 << bits) &- 1)) }
    let number = field(5, 5)
    // Dc zva, with which libraries clear memory, has its address in the lowest register field.
    if word & 0xFFFF_FFE0 == 0xD50B_7420 {
      self.init(base: "x\(field(0, 5))")
      return
    }
    self.init(base: number == 31 ? "sp" : "x\(number)")
    let isVector = field(26, 1) == 1
    // The instructions that load or store one register have the size in the highest two bits; vector registers of 16
    // bytes have one more bit.
    let size = isVector && field(23, 1) == 1 ? 4 : field(30, 2)
    if word & 0x3B00_0000 == 0x3900_0000 {
      displacement = field(10, 12) << size
    } else if word & 0x3B00_0000 == 0x3800_0000 {
      if field(21, 1) == 0 {
        if field(10, 2) != 1 { displacement = field(12, 9).signExtended(from: 9) }
      } else if field(10, 2) == 2 {
        let extent: Extent
        switch field(13, 3) {
        case 2: extent = .zeroExtendedWord
        case 6: extent = .signExtendedWord
        default: extent = .whole
        }
        let register = field(16, 5)
        if register != 31 {
          index = IndexRegister(
            register: "x\(register)",
            shift: field(12, 1) == 1 ? UInt8(truncatingIfNeeded: size) : 0, extent: extent)
        }
      } else if field(10, 2) != 0 {
        return nil
      }
    } else if word & 0x3A00_0000 == 0x2800_0000 {
      let shift: UInt64 = 2 &+ (isVector ? field(30, 2) : field(31, 1))
      if field(23, 2) != 1 { displacement = field(15, 7).signExtended(from: 7) << shift }
    } else if word & 0x3F00_0000 != 0x0800_0000, word & 0xBE00_0000 != 0x0C00_0000 {
      return nil
    }
  }

  private init(base: String) { self.base = base }
}
