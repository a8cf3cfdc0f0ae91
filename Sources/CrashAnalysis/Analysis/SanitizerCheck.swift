/// A check of clang's UndefinedBehaviorSanitizer, identified by the number in the instruction that traps.
///
/// The numbers follow the order of clang's list, to which new checks are appended.
///
/// Source: LLVM clang/lib/CodeGen/SanitizerHandler.h.
/// Source: LLVM llvm/lib/Target/X86/X86ISelLowering.cpp and AArch64/AArch64InstrInfo.td, `llvm.ubsantrap`.
package struct SanitizerCheck: Sendable, Equatable {
  package var number: UInt32

  /// Decodes `ud1 number(%eax), %eax` of x86_64; nil for another instruction.
  init?(x86 code: some Collection<UInt8>) {
    let code = Array(code)
    guard code.count >= 4, code[0] == 0x67, code[1] == 0x0F, code[2] == 0xB9 else { return nil }
    switch code[3] {
    case 0x00: number = 0
    case 0x40 where code.count >= 5: number = UInt32(code[4])
    case 0x80 where code.count >= 6: number = UInt32(code[4]) | UInt32(code[5]) << 8
    default: return nil
    }
  }

  /// Decodes `brk #0x5500 + number` of arm64; nil for another instruction.
  init?(arm64 word: UInt32) {
    guard word & 0xFFE0_001F == 0xD420_0000, (word >> 13) & 0xFF == 0x55 else { return nil }
    number = (word >> 5) & 0xFF
  }
}
