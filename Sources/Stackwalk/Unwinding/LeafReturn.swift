internal import IntermediateDump

/// Recognizes arm64 code that returns through the current value of the link register.
///
/// If code reaches `ret` without a call and without restoring the register, the register already contains the return
/// address to the caller. A function that makes calls must save the register first, and restore it before it returns.
/// A conditional branch before `ret` is ignored, because one path to `ret` is enough for this conclusion.
///
/// Source: AAPCS64, 6.1.1; Arm ARM, C4.1 (encoding of instructions).
enum LeafReturn {
  /// The maximum number of bytes of code to examine.
  static let codeSize = 64

  /// Finds the number of bytes that the function has on the stack; nil unless the code soon returns through the
  /// unchanged link register, and changes the stack pointer only as an epilogue does.
  ///
  /// - Parameter code: the code, starting with the next instruction.
  static func stackSize(_ code: [UInt8]) -> UInt64? {
    var size: UInt64 = 0
    for index in stride(from: 0, to: code.count - 3, by: 4) {
      let word = code.littleEndian(at: index, as: UInt32.self) ?? 0
      // At RET, RETAA or RETAB, `size` is the number of bytes that the function still had on the stack.
      if word == 0xD65F_03C0 || word == 0xD65F_0BFF || word == 0xD65F_0FFF { return size }
      if isBranch(word) {
        if leavesLine(word) { return nil }
        continue
      }
      guard !namesLinkRegister(word) else { return nil }
      if let taken = bytesTaken(word) {
        size &+= taken
      } else if changesStackPointer(word) {
        return nil
      }
    }
    return nil
  }

  /// True for branches, exceptions and those system instructions that write no general register.
  ///
  /// The result is false for MRS and SYSL, which write a general register.
  ///
  /// Source: Arm ARM, C4.1.94 (Branches, Exception Generating and System instructions).
  private static func isBranch(_ word: UInt32) -> Bool {
    word & 0x1C00_0000 == 0x1400_0000 && word & 0xFF20_0000 != 0xD520_0000
  }

  /// True for B, BL, BR, BLR and their variants; false for conditional branches and SVC, after which the code can
  /// continue.
  private static func leavesLine(_ word: UInt32) -> Bool {
    word & 0x7C00_0000 == 0x1400_0000 || word & 0xFE00_0000 == 0xD600_0000
  }

  private static func namesLinkRegister(_ word: UInt32) -> Bool {
    let isPair = word & 0x3A00_0000 == 0x2800_0000
    return word & 31 == 30 || isPair && word >> 10 & 31 == 30
  }

  /// The number of bytes that an instruction of an epilogue removes from the stack; nil for other instructions.
  private static func bytesTaken(_ word: UInt32) -> UInt64? {
    // ADD SP, SP, #n, where n may be shifted by 12.
    if word & 0xFF80_03FF == 0x9100_03FF {
      return UInt64(word >> 10 & 0xFFF) << (word >> 22 & 1 == 1 ? 12 : 0)
    }
    guard word >> 5 & 31 == 31 else { return nil }
    // LDP of 64-bit general or vector registers, and LDR of one register, each post-indexed by a positive number.
    if word & 0xFFE0_0000 == 0xA8C0_0000 || word & 0xFFE0_0000 == 0x6CC0_0000 {
      return UInt64(word >> 15 & 0x3F) &* 8
    }
    if word & 0xFFF0_0C00 == 0xF840_0400 { return UInt64(word >> 12 & 0xFF) }
    return nil
  }

  /// True for arithmetic whose result is the stack pointer, and for memory accesses that change the stack pointer.
  private static func changesStackPointer(_ word: UInt32) -> Bool {
    let isAddition = word & 0x1F80_0000 == 0x1100_0000 || word & 0x1FE0_0000 == 0x0B20_0000
    if isAddition { return word & 31 == 31 && word & 0x2000_0000 == 0 }
    guard word & 0x0A00_0000 == 0x0800_0000, word >> 5 & 31 == 31 else { return false }
    let isPair = word & 0x3A00_0000 == 0x2800_0000
    // A load or store of a register pair changes the stack pointer if it writes the address back. A load or store of a
    // single register does so if it is pre-indexed or post-indexed.
    return isPair ? word >> 23 & 1 == 1 : word & 0x3B20_0400 == 0x3800_0400
  }
}
