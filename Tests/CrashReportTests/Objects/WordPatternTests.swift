import ProcessSnapshot
import Testing

@testable import CrashAnalysis
@testable import CrashReport

@Suite struct WordPatternTests {
  @Test(
    arguments: [
      (0x08D0_EEF4_EA1D_ADAB, "swift-freed-object"), (0x5A5A_5A5A_5A5A_5A5A, "jemalloc-freed"),
      (0xA5A5_A5A5_A5A5_A5A5, "jemalloc-new"), (0xAAAA_AAAA_AAAA_AAAA, "repeated-byte"),
      (0xDEAD_BEEF, "spelled-number"), (0xDEAD_BEEF_DEAD_BEEF, "spelled-number"),
      (0x6F6C_6C65_6820_6F4E, "text"), (0x0074_656B_7361_6261, "text"),
      (0xE500_0000_0000_0000, "small-string"), (0xEF65_7478_6574_2020, "small-string"),
      (0x8000_5555_5555_0000, "string-literal"), (0xFFFF_FFFF_FFFF_FFEF, "negative-number"),
      (1, "small-number"), (0xFFFF, "small-number"), (0x4000_5555_5555_4448, "tagged-address"),
      (0x0100_7FFF_1234_5678, "tagged-address"), (0x4059_0000_0000_0000, "impossible-address"),
      (0x1234_5678_9ABC_DEF0, "impossible-address"), (0x0DEF_ACED_0DEF_ACED, "left-out"),
    ] as [(UInt64, String)])
  func aWordIsNamed(word: UInt64, kind: String) {
    #expect(WordPattern(word)?.kind == kind)
  }

  @Test(
    arguments: [
      0, 0x1_0000, 0x7FFF_1234_5678, 0x5555_5555_4000, 0x6F6C_6C65_6820,
      // An address of five levels of page tables.
      0x00FF_7FFF_1234_5678,
    ]
      as [UInt64])
  func aNumberOrAnAddressLikeAnyOtherHasNoName(word: UInt64) {
    #expect(WordPattern(word) == nil)
  }

  @Test func numbersAndTagsAreDecimalAndAnAddress() {
    #expect(WordPattern(24)?.words == "24")
    #expect(
      WordPattern(0x4000_5555_5555_4448)?.words
        == "0x555555554448 with tag 0x40, as of an enum's case")
  }

  @Test func aFaultALittleAboveAFillIsToldByTheFill() {
    #expect(WordPattern.below(0x5A5A_5A5A_5A5A_5A72)?.pattern == .jemallocFreed)
    #expect(WordPattern.below(0x5A5A_5A5A_5A5A_5A72)?.offset == 0x18)
    #expect(WordPattern.below(0xDEAD_BEEF)?.offset == 0)
    #expect(WordPattern.below(0xDEAD_BEF7)?.pattern == .spelledNumber(0xDEAD_BEEF))
    #expect(WordPattern.below(0x7F00_1234_5678) == nil)
    #expect(WordPattern.below(0x18) == nil)
    #expect(WordPattern.below(0x1818) == nil)
  }

  @Test func anyWordIsReadWithoutATrap() {
    var random = SystemRandomNumberGenerator()
    for _ in 0..<100_000 {
      // The random words have every length and every top bit.
      let word = random.next() >> (random.next() % 64)
      _ = WordPattern(word)?.words
      _ = WordPattern(~word)?.words
      _ = WordPattern.below(Address(word))
      _ = ReferenceCount(word) { _ in word }
    }
  }
}
