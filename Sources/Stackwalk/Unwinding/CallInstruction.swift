internal import ProcessSnapshot

/// Recognises code that ends in a call.
enum CallInstruction {
  /// True if the last instruction of `code` is a call; `code` is the 8 bytes before a return
  /// address.
  ///
  /// On x86_64 an instruction cannot be told backwards for certain: the bytes of a call may be the
  /// end of another instruction. Source: Intel SDM volume 2, CALL; Arm ARM, BL and BLR.
  static func ends(_ code: [UInt8], architecture: ProcessSnapshot.Architecture) -> Bool {
    guard code.count == 8 else { return false }
    switch architecture {
    case .x86_64: return endsInX86Call(code)
    case .arm64:
      let word = code[4...].reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
      return word & 0xFC00_0000 == 0x9400_0000  // BL
        || word & 0xFFFF_FC1F == 0xD63F_0000  // BLR
        || word & 0xFEFF_F800 == 0xD63F_0800  // BLRAA and its kin
    }
  }

  private static func endsInX86Call(_ code: [UInt8]) -> Bool {
    if code[3] == 0xE8 { return true }
    // FF /2 with every form of memory operand: its length must be what ModRM and SIB say.
    for length in [2, 3, 4, 6, 7] {
      let start = 8 - length
      guard code[start] == 0xFF, code[start + 1] & 0x38 == 0x10 else { continue }
      let mode = code[start + 1] >> 6
      let base = code[start + 1] & 7
      let hasSIB = mode != 3 && base == 4
      var expected = 2 + (hasSIB ? 1 : 0)
      switch mode {
      case 0:
        let isDisplacementOnly = hasSIB ? (length > 2 && code[start + 2] & 7 == 5) : base == 5
        expected += isDisplacementOnly ? 4 : 0
      case 1: expected += 1
      case 2: expected += 4
      default: break
      }
      if expected == length { return true }
    }
    return false
  }
}
