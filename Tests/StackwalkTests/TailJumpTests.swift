import ProcessSnapshot
import Testing

@testable import Stackwalk

/// The calls and jumps of both architectures.
@Suite struct TailJumpTests {
  private func bytes(_ words: UInt32...) -> [UInt8] {
    words.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } }
  }

  private func jumps(_ code: [UInt8]) -> [Address]? {
    TailJump.all(in: code, at: 0x1800, .x86_64)?.map(\.target)
  }

  @Test func findsTheTargetOfADirectCall() {
    // call 0x1700, from 0x1800.
    let call: [UInt8] = [0xE8, 0xFB, 0xFE, 0xFF, 0xFF]
    #expect(TailJump.callTarget(call, at: 0x1800, .x86_64) == 0x1700)
    // call *%rax after three other bytes.
    #expect(TailJump.callTarget([0, 0, 0, 0xFF, 0xD0], at: 0x1800, .x86_64) == nil)
    #expect(TailJump.callTarget([0xE8, 0], at: 0x1800, .x86_64) == nil)
    // bl -0x100, at 0x1801; blr x8.
    #expect(
      TailJump.callTarget([0] + bytes(0x97FF_FFC0), at: 0x1800, .arm64) == 0x1701)
    #expect(TailJump.callTarget([0] + bytes(0xD63F_0100), at: 0x1800, .arm64) == nil)
  }

  @Test func findsDirectJumps() {
    // jmp 0x1700; je 0x1700; jmp (short) 0x17f4.
    #expect(jumps([0xE9, 0xFB, 0xFE, 0xFF, 0xFF]) == [0x1700])
    #expect(jumps([0x0F, 0x84, 0xFA, 0xFE, 0xFF, 0xFF]) == [0x1700])
    #expect(jumps([0xEB, 0xF2]) == [0x17F4])
    // A call is not a jump, and neither is its operand; the jump after the call is one.
    #expect(jumps([0xE8, 0xEB, 0xFE, 0xFF, 0xFF, 0x66, 0x90, 0xEB, 0xFE]) == [0x1807])
    // jne 0x1816.
    #expect(jumps([0x75, 0x14]) == [0x1816])
    // No instruction, and incomplete ones.
    #expect(jumps([]) == [] && jumps([0xE9]) == nil && jumps([0xE9, 0, 0]) == nil)
    #expect(jumps([0x06]) == nil)
    let arm = TailJump.all(
      in: bytes(0x1400_0040, 0x17FF_FFC0, 0xD65F_03C0), at: 0x1800, .arm64)
    #expect(arm?.map(\.target) == [0x1900, 0x1704])
    #expect(arm?.map(\.end) == [0x1804, 0x1808])
  }

  /// An indirect jump may lead anywhere, so there is no result.
  @Test func refusesIndirectJumps() {
    // jmp *%rax; jmp *0x50(%rax); jmp *(%rdx,%rcx,8).
    #expect(jumps([0xFF, 0xE0]) == nil)
    #expect(jumps([0xFF, 0x60, 0x50]) == nil)
    #expect(jumps([0xFF, 0x24, 0xCA]) == nil)
    // `jmp *x(%rip)`, which leads to another module, and `call *%rax`.
    #expect(jumps([0xFF, 0x25, 0, 0, 0, 0]) == [])
    #expect(jumps([0xFF, 0xD0]) == [])
    #expect(TailJump.all(in: bytes(0xD61F_0100), at: 0x1800, .arm64) == nil)
    #expect(TailJump.all(in: bytes(0xD71F_0911), at: 0x1800, .arm64) == nil)
  }

  @Test func readsAnyBytesWithoutATrap() {
    var state: UInt64 = 42
    for _ in 0..<2000 {
      let code = (0..<64).map { _ -> UInt8 in
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return UInt8(truncatingIfNeeded: state >> 40)
      }
      let start = Address(state | 0xFFFF_FFFF_FFFF_0000)
      for architecture in [ProcessSnapshot.Architecture.x86_64, .arm64] {
        _ = TailJump.all(in: code, at: start, architecture)
        _ = TailJump.callTarget(Array(code.prefix(5)), at: start, architecture)
      }
    }
  }
}
