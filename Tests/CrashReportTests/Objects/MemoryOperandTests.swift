import ProcessSnapshot
import Testing

@testable import CrashAnalysis
@testable import CrashReport

/// The bytes come from an assembler.
@Suite struct MemoryOperandTests {
  private typealias Index = MemoryOperand.IndexRegister

  private static func operand(
    _ base: String?, _ displacement: Int64 = 0, _ index: Index? = nil, isScaled: Bool = false
  ) -> MemoryOperand {
    var operand = MemoryOperand()
    (operand.base, operand.index) = (base, index)
    operand.displacement = UInt64(bitPattern: displacement)
    operand.isScaled = isScaled
    return operand
  }

  @Test(
    arguments: [
      ([0x8B, 0x00], [operand("rax")]),
      ([0x48, 0x8B, 0x47, 0x18], [operand("rdi", 24)]),
      ([0x48, 0x8B, 0x47, 0xF8], [operand("rdi", -8)]),
      ([0xC7, 0x04, 0x88, 1, 0, 0, 0], [operand("rax", 0, Index(register: "rcx", shift: 2))]),
      ([0xC7, 0x04, 0x25, 0xE8, 0xFD, 0, 0, 1, 0, 0, 0], [operand(nil, 65000)]),
      ([0x41, 0x0F, 0xB6, 0x44, 0x24, 5], [operand("r12", 5)]),
      ([0x4F, 0x8B, 0x44, 0xCD, 5], [operand("r13", 5, Index(register: "r9", shift: 3))]),
      ([0x48, 0x8B, 0x04, 0xCD, 0, 0, 0, 0], [operand(nil, 0, Index(register: "rcx", shift: 3))]),
      // AVX, AVX2 and AVX-512, as in the C library's functions for strings.
      ([0xC5, 0xFE, 0x6F, 0x07], [operand("rdi")]),
      ([0xC5, 0xFD, 0x74, 0x4F, 0x20], [operand("rdi", 32)]),
      ([0x62, 0xE1, 0xFE, 0x48, 0x6F, 0x46, 1], [operand("rsi", 1, isScaled: true)]),
      ([0xF3, 0xA4], [operand("rdi"), operand("rsi")]),
      ([0xF3, 0x48, 0xAB], [operand("rdi")]),
      ([0xF0, 0x48, 0x0F, 0xB1, 0x4B, 0x10], [operand("rbx", 16)]),
      ([0xDB, 0x68, 0x20], [operand("rax", 32)]),
      ([0xF2, 0x49, 0x0F, 0x38, 0xF1, 0x41, 8], [operand("r9", 8)]),
      ([0xFF, 0x50, 0x50], [operand("rax", 80)]),
      // The instructions lea, a load of thread-local and one of global data, nopw, cmp without memory, syscall and ret.
      ([0x48, 0x8D, 0x47, 0x18], []), ([0x64, 0x48, 0x8B, 0x04, 0x25, 0x28, 0, 0, 0], []),
      ([0x48, 0x8B, 0x05, 0, 0x10, 0, 0], []), ([0x66, 0x0F, 0x1F, 0x40, 0x18], []),
      ([0x48, 0x3D, 0, 0xF0, 0xFF, 0xFF], []), ([0x0F, 0x05], []), ([0xC3], []),
      // Instructions whose end is missing.
      ([], []), ([0x48], []), ([0x8B], []), ([0x8B, 0x04], []), ([0x8B, 0x40], []),
      ([0xC4, 0xE2], []),
      ([0x0F], []), ([0x62, 0xE1, 0xFE], []), ([0xF3, 0xF3, 0xF3], []),
    ] as [([UInt8], [MemoryOperand])])
  func instructionsOfX86(_ code: [UInt8], _ operands: [MemoryOperand]) {
    #expect(MemoryOperand.all(x86: code) == operands)
  }

  @Test(
    arguments: [
      (0xF940_0020, operand("x1")), (0xF940_0C20, operand("x1", 24)),
      (0x3DC0_0820, operand("x1", 32)),
      (0x3862_4820, operand("x1", 0, Index(register: "x2", shift: 0, extent: .zeroExtendedWord))),
      (0xF862_7820, operand("x1", 0, Index(register: "x2", shift: 3))),
      (0xB862_D820, operand("x1", 0, Index(register: "x2", shift: 2, extent: .signExtendedWord))),
      (0xF822_683F, operand("x1", 0, Index(register: "x2", shift: 0))),
      (0xF85F_8020, operand("x1", -8)), (0xF841_0420, operand("x1")),
      (0xF841_0C20, operand("x1", 16)),
      (0xA941_0820, operand("x1", 16)), (0xAD7F_0820, operand("x1", -32)),
      (0xA9BF_0BE0, operand("sp", -16)), (0xC85F_FC20, operand("x1")), (0xF820_0022, operand("x1")),
      (0x4C40_7020, operand("x1")), (0xD50B_7423, operand("x3")),
      // The instructions add, ldr of a literal and svc.
      (0x9100_6020, nil), (0x5800_0200, nil), (0xD400_0001, nil),
    ] as [(UInt32, MemoryOperand?)])
  func instructionsOfARM64(_ word: UInt32, _ operand: MemoryOperand?) {
    #expect(MemoryOperand(arm64: word) == operand)
  }

  @Test func theAddressIsTheSumOfTheParts() {
    let registers: [String: UInt64] = ["x1": 0x1000, "x2": 0xFFFF_FFFF_FFFF_FFF0]
    func isAt(_ operand: MemoryOperand, _ address: Address) -> Bool {
      operand.addresses { registers[$0] }.contains(address)
    }
    let operand = Self.operand
    #expect(isAt(operand("x1", -8, nil, false), 0xFF8))
    #expect(!isAt(operand("x1", -8, nil, false), 0x1000))
    #expect(isAt(operand("x1", 0, Index(register: "x2", shift: 2), false), 0xFC0))
    let zero = Index(register: "x2", shift: 0, extent: .zeroExtendedWord)
    #expect(isAt(operand("x1", 0, zero, false), 0x1_0000_0FF0))
    let signed = Index(register: "x2", shift: 0, extent: .signExtendedWord)
    #expect(isAt(operand("x1", 0, signed, false), 0xFF0))
    #expect(isAt(operand("x1", 1, nil, true), 0x1040) && !isAt(operand("x1", 1, nil, true), 0x1030))
    #expect(!isAt(operand("x3", 0, nil, false), 0) && isAt(operand(nil, 8, nil, false), 8))
  }
}
