internal import IntermediateDump
internal import ProcessSnapshot

/// Where a function creates its frame record, according to its first instructions.
enum FrameSetup: Equatable {
  /// Up to `saved` nothing is on the stack; up to `done` the caller's frame pointer is saved but
  /// not replaced.
  case present(saved: Address, done: Address)
  /// The function makes none.
  case absent
  /// The function's start or its code is not known.
  case unknown

  /// The maximum number of bytes of code to examine.
  static let codeSize = 48

  init(code: [UInt8], start: Address, architecture: ProcessSnapshot.Architecture) {
    switch architecture {
    case .x86_64: self = Self.x86(code, start: start)
    case .arm64: self = Self.arm64(code, start: start)
    }
  }

  /// `push rbp` followed soon by `mov rbp, rsp`, or `lea rbp, [rsp + n]` in an async function.
  private static func x86(_ code: [UInt8], start: Address) -> FrameSetup {
    // Only ENDBR64 and the async mark (BTS rbp, 60) may precede the push.
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

  /// `stp x29, x30, [sp, ...]`, then `mov x29, sp` or `add x29, sp, #n`.
  private static func arm64(_ code: [UInt8], start: Address) -> FrameSetup {
    var saved: Address?
    for index in stride(from: 0, to: code.count - 3, by: 4) {
      let word = code.littleEndian(at: index, as: UInt32.self) ?? 0
      // STP of 64-bit registers with any addressing mode, Rt x29, Rt2 x30, base sp.
      if word & 0xFE40_7FFF == 0xA800_7BFD { saved = start &+ UInt64(index) }
      if let saved, word & 0xFF80_03FF == 0x9100_03FD {
        return .present(saved: saved, done: start &+ UInt64(index + 4))
      }
    }
    return .absent
  }
}

/// Recognizes code that ends in a call.
enum CallInstruction {
  /// Checks the 8 bytes before a return address.
  ///
  /// On x86_64 the bytes of a call may also be the end of another instruction.
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
        || word & 0xFEFF_F800 == 0xD63F_0800  // BLRAA and its kin
    }
  }

  private static func endsInX86Call(_ code: [UInt8]) -> Bool {
    if code[3] == 0xE8 { return true }
    // FF /2 with every form of memory operand, whose length must match ModRM and SIB.
    return [2, 3, 4, 6, 7].contains { length in
      let operand = 8 - length + 1
      return code[operand - 1] == 0xFF && code[operand] & 0x38 == 0x10
        && X86Instruction.memoryOperandSize(code, operand) == length - 1
    }
  }
}
