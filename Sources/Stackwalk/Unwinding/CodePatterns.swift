internal import IntermediateDump
internal import ProcessSnapshot

/// Where a function creates its frame record, as found from its first instructions.
enum FrameSetup: Equatable {
  /// The function creates a frame record.
  ///
  /// Up to the address `saved`, the return address is on top of the stack on x86_64, and in the link register on
  /// arm64. From `saved` up to `done`, the caller's frame pointer has been saved, but the frame pointer register has
  /// not yet been set.
  case present(saved: Address, done: Address)
  /// The function creates no frame record.
  case absent
  /// The start or the code of the function is not known.
  case unknown

  /// The maximum number of bytes that are examined at the start of a function.
  static let codeSize = 48

  init(code: [UInt8], start: Address, architecture: ProcessSnapshot.Architecture) {
    switch architecture {
    case .x86_64: self = Self.x86(code, start: start)
    case .arm64: self = Self.arm64(code, start: start)
    }
  }

  /// Looks for `push rbp` followed soon by `mov rbp, rsp`, or by `lea rbp, [rsp + n]` in an async function.
  private static func x86(_ code: [UInt8], start: Address) -> FrameSetup {
    // Compilers put at most ENDBR64 and the instruction that marks an async frame (BTS rbp, 60) before the push, so
    // the push is among the first bytes.
    guard let push = code.prefix(16).firstIndex(of: 0x55) else { return .absent }
    var index = push + 1
    while index + 3 <= code.count {
      if code[index...].starts(with: [0x48, 0x89, 0xE5]) {
        return .present(saved: start &+ UInt64(push), done: start &+ UInt64(index + 3))
      }
      if code[index...].starts(with: [0x48, 0x8D, 0x6C, 0x24]), index + 5 <= code.count {
        return .present(saved: start &+ UInt64(push), done: start &+ UInt64(index + 5))
      }
      index += 1
    }
    return .absent
  }

  /// Looks for the setup of the frame pointer: `stp x29, x30, [sp, ...]`, then `mov x29, sp` or `add x29, sp, #n`.
  private static func arm64(_ code: [UInt8], start: Address) -> FrameSetup {
    var saved: Address?
    for index in stride(from: 0, to: code.count - 3, by: 4) {
      let word = code.littleEndian(at: index, as: UInt32.self) ?? 0
      // STP of the 64-bit registers x29 and x30 to the stack, with any addressing mode.
      if word & 0xFE40_7FFF == 0xA800_7BFD { saved = start &+ UInt64(index) }
      if let saved, word & 0xFF80_03FF == 0x9100_03FD {
        return .present(saved: saved, done: start &+ UInt64(index + 4))
      }
    }
    return .absent
  }
}

/// Recognizes code that ends with a call instruction.
enum CallInstruction {
  /// Checks whether the 8 bytes before a return address end in a call.
  ///
  /// On x86_64, the result may be true although the bytes are only the end of another instruction.
  ///
  /// Source: Intel SDM volume 2, CALL; Arm ARM, BL and BLR.
  static func ends(_ code: [UInt8], architecture: ProcessSnapshot.Architecture) -> Bool {
    guard code.count == 8 else { return false }
    switch architecture {
    case .x86_64: return endsInX86Call(code)
    case .arm64:
      let word = code.littleEndian(at: 4, as: UInt32.self) ?? 0
      return word & 0xFC00_0000 == 0x9400_0000  // BL
        || word & 0xFFFF_FC1F == 0xD63F_0000  // BLR
        || word & 0xFEFF_F800 == 0xD63F_0800  // BLRAA and its variants
    }
  }

  private static func endsInX86Call(_ code: [UInt8]) -> Bool {
    if code[3] == 0xE8 { return true }
    // The opcode FF /2 can have a memory operand of any form, whose length must match ModRM and SIB.
    return [2, 3, 4, 6, 7].contains { length in
      let operand = 8 - length + 1
      return code[operand - 1] == 0xFF && code[operand] & 0x38 == 0x10
        && X86Instruction.memoryOperandSize(code, operand) == length - 1
    }
  }
}
