internal import IntermediateDump
internal import ProcessSnapshot

/// A jump that may be a tail call, from one function to another.
struct TailJump: Equatable {
  /// The address after the jump.
  let end: Address
  let target: Address

  /// The number of bytes before a return address that are searched for a direct call; an x86_64 call has 5 bytes.
  static var callSize: Int { 5 }

  /// The target of a direct call; nil for an indirect call, or if the bytes are not a call.
  ///
  /// - Parameters:
  ///   - code: the `callSize` bytes before the return address.
  ///   - address: the address of the first byte.
  ///
  /// Source: Intel SDM volume 2, CALL; Arm ARM, BL.
  static func callTarget(
    _ code: [UInt8], at address: Address, _ architecture: ProcessSnapshot.Architecture
  ) -> Address? {
    switch architecture {
    case .x86_64:
      guard code.first == 0xE8, let distance = code.signed(at: 1, width: 4) else { return nil }
      return address &+ 5 &+ UInt64(bitPattern: distance)
    case .arm64:
      guard let word = code.littleEndian(at: 1, as: UInt32.self), word >> 26 == 0b100101 else {
        return nil
      }
      return address &+ 1 &+ branchDistance(word)
    }
  }

  /// The direct jumps in a function's code; on arm64, only the unconditional ones.
  ///
  /// The result is nil if the code cannot be decoded, or if it has an indirect jump that may lead anywhere.
  ///
  /// - Parameters:
  ///   - code: the whole function.
  ///   - start: the address of the function.
  ///
  /// Source: Intel SDM volume 2, JMP and Jcc; Arm ARM, B, BR and BRAA.
  static func all(
    in code: [UInt8], at start: Address, _ architecture: ProcessSnapshot.Architecture
  ) -> [TailJump]? {
    architecture == .arm64 ? arm64(code, start) : x86(code, start)
  }

  private static func x86(_ code: [UInt8], _ start: Address) -> [TailJump]? {
    var jumps: [TailJump] = []
    var index = 0
    while index < code.count {
      guard let instruction = X86Instruction(code, at: index) else { return nil }
      index += instruction.length
      let end = start &+ UInt64(index)
      switch instruction.jump {
      case .direct(let distance):
        jumps.append(TailJump(end: end, target: end &+ UInt64(bitPattern: distance)))
      // A jump through a stored address, such as a GOT entry, leads to another module, which does not jump back. So the
      // jump is left out.
      case .throughWord, .none: continue
      case .indirect: return nil
      }
    }
    return jumps
  }

  private static func arm64(_ code: [UInt8], _ start: Address) -> [TailJump]? {
    var jumps: [TailJump] = []
    for index in stride(from: 0, to: code.count, by: 4) {
      guard let word = code.littleEndian(at: index, as: UInt32.self) else { break }
      if word & 0xFFFF_FC1F == 0xD61F_0000 || word & 0xFEFF_F800 == 0xD61F_0800 { return nil }
      if word >> 26 == 0b000101 {
        let address = start &+ UInt64(index)
        jumps.append(TailJump(end: address &+ 4, target: address &+ branchDistance(word)))
      }
    }
    return jumps
  }

  /// The signed distance in bytes that the instruction B or BL encodes, as a number to add with `&+`.
  private static func branchDistance(_ word: UInt32) -> UInt64 {
    UInt64(bitPattern: Int64(bitPattern: UInt64(word) << 38) >> 36)
  }
}

/// The length of one x86_64 instruction, and whether the instruction jumps.
///
/// The decoder recognizes the instructions that compilers emit, and may treat other instructions as invalid.
///
/// Source: Intel SDM volume 2, chapter 2 (instruction format) and appendix A (opcode maps).
struct X86Instruction {
  enum Jump: Equatable {
    case none
    /// A conditional or unconditional jump; the value is the distance in bytes from the end of the instruction.
    case direct(Int64)
    /// A jump to the address that is stored in a word at a fixed address.
    case throughWord
    /// A jump to an address that is in a register, or in memory to which registers point.
    case indirect
  }

  private(set) var length = 0
  private(set) var jump = Jump.none

  private enum Operands {
    case none
    case immediate(Int)
    /// A ModR/M byte with its operands, then an immediate operand of this many bytes.
    case memory(Int)
  }

  private var hasOperandSize = false
  private var isWide = false

  /// Decodes an instruction; nil if the bytes are not an instruction or end before the instruction does.
  init?(_ code: [UInt8], at start: Int) {
    var index = start
    func next() -> UInt8? {
      defer { index += 1 }
      return index < code.count ? code[index] : nil
    }
    guard var opcode = next() else { return nil }
    while [0x66, 0x67, 0xF2, 0xF3, 0xF0, 0x2E, 0x36, 0x3E, 0x26, 0x64, 0x65].contains(opcode) {
      if opcode == 0x66 { hasOperandSize = true }
      guard index - start < 14, let byte = next() else { return nil }
      opcode = byte
    }
    if opcode & 0xF0 == 0x40 {
      isWide = opcode & 8 != 0
      guard let byte = next() else { return nil }
      opcode = byte
    }
    let operands: Operands?
    switch opcode {
    case 0x0F:
      guard let second = next() else { return nil }
      if second == 0x38 || second == 0x3A {
        operands = next().map { _ in .memory(second == 0x3A ? 1 : 0) }
      } else {
        operands = Self.secondMap(second)
        if second & 0xF0 == 0x80 {
          jump = code.signed(at: index, width: 4).map { .direct($0) } ?? .none
        }
      }
    case 0xC5, 0xC4, 0x62:
      // In a VEX or EVEX prefix, some bits select the opcode map, which determines the operands that follow.
      guard let first = next() else { return nil }
      index += opcode == 0xC5 ? 0 : opcode == 0xC4 ? 1 : 2
      let map = opcode == 0xC5 ? 1 : first & (opcode == 0xC4 ? 0x1F : 0x07)
      guard (1...6).contains(map), let byte = next() else { return nil }
      operands = map == 1 ? Self.secondMap(byte) : .memory(map == 3 ? 1 : 0)
    default:
      operands = firstMap(opcode, modRM: index < code.count ? code[index] : 0)
      jump = Self.jump(opcode, code, index)
    }
    switch operands {
    case nil: return nil
    case .some(.none): break
    case .immediate(let size): index += size
    case .memory(let size):
      guard let count = Self.memoryOperandSize(code, index) else { return nil }
      index += count + size
    }
    guard index <= code.count, index - start <= 15 else { return nil }
    length = index - start
  }

  private static func jump(_ opcode: UInt8, _ code: [UInt8], _ index: Int) -> Jump {
    switch opcode {
    case 0xE9: return code.signed(at: index, width: 4).map { .direct($0) } ?? .none
    case 0xEB, 0x70...0x7F, 0xE0...0xE3:
      return code.signed(at: index, width: 1).map { .direct($0) } ?? .none
    case 0xFF:
      guard index < code.count, code[index] & 0x30 == 0x20 else { return .none }
      return code[index] == 0x25 ? .throughWord : .indirect
    default: return .none
    }
  }

  /// The operands of an opcode of one byte.
  private func firstMap(_ opcode: UInt8, modRM: UInt8) -> Operands? {
    let immediate = hasOperandSize ? 2 : 4
    switch opcode {
    case 0x00...0x3F where opcode & 7 < 4: return .memory(0)
    case 0x00...0x3F where opcode & 7 == 4: return .immediate(1)
    case 0x00...0x3F where opcode & 7 == 5: return .immediate(immediate)
    case 0x63, 0x84...0x8F, 0xD0...0xD3, 0xD8...0xDF, 0xFE, 0xFF: return .memory(0)
    case 0x69, 0x81, 0xC7: return .memory(immediate)
    case 0x6B, 0x80, 0x83, 0xC0, 0xC1, 0xC6: return .memory(1)
    case 0xF6: return .memory(modRM & 0x30 == 0 ? 1 : 0)
    case 0xF7: return .memory(modRM & 0x30 == 0 ? immediate : 0)
    case 0x6A, 0x70...0x7F, 0xA8, 0xB0...0xB7, 0xCD, 0xE0...0xE7, 0xEB: return .immediate(1)
    case 0x68, 0xA9: return .immediate(immediate)
    case 0xE8, 0xE9: return .immediate(4)
    case 0xB8...0xBF: return .immediate(isWide ? 8 : immediate)
    case 0xA0...0xA3: return .immediate(8)
    case 0xC2, 0xCA: return .immediate(2)
    case 0xC8: return .immediate(3)
    case 0x50...0x5F, 0x6C...0x6F, 0x90...0x99, 0x9B...0x9F, 0xA4...0xA7, 0xAA...0xAF, 0xC3, 0xC9,
      0xCB, 0xCC, 0xCF, 0xD7, 0xEC...0xEF, 0xF1, 0xF4, 0xF5, 0xF8...0xFD:
      return Operands.none
    default: return nil
    }
  }

  /// The operands of an x86 instruction whose opcode is the byte 0F followed by `opcode`.
  private static func secondMap(_ opcode: UInt8) -> Operands? {
    switch opcode {
    case 0x05...0x09, 0x0B, 0x0E, 0x30...0x37, 0x77, 0xA0...0xA2, 0xA8...0xAA, 0xC8...0xCF:
      return Operands.none
    case 0x80...0x8F: return .immediate(4)
    case 0x0F, 0x70...0x73, 0xA4, 0xAC, 0xBA, 0xC2, 0xC4...0xC6: return .memory(1)
    case 0x04, 0x0A, 0x0C, 0x24...0x27: return nil
    default: return .memory(0)
    }
  }

  /// The number of bytes of the ModR/M byte, the SIB byte and the displacement together.
  static func memoryOperandSize(_ code: [UInt8], _ index: Int) -> Int? {
    guard index < code.count else { return nil }
    let (mode, base) = (code[index] >> 6, code[index] & 7)
    guard mode != 3 else { return 1 }
    let hasSIB = base == 4
    guard !hasSIB || index + 1 < code.count else { return nil }
    let isDisplacementOnly = mode == 0 && (hasSIB ? code[index + 1] & 7 : base) == 5
    let displacement = mode == 1 ? 1 : mode == 2 || isDisplacementOnly ? 4 : 0
    return (hasSIB ? 2 : 1) + displacement
  }
}

extension [UInt8] {
  /// Reads a signed little-endian number.
  fileprivate func signed(at index: Int, width: Int) -> Int64? {
    guard let value = littleEndian(at: index, width: width) else { return nil }
    let unused = 64 - 8 * width
    return Int64(bitPattern: value << unused) >> unused
  }
}
