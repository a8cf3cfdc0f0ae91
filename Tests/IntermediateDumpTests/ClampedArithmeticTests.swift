import IntermediateDump
import Testing

@Suite struct ClampedArithmeticTests {
  @Test func endsAtTheEndsOfTheType() {
    #expect(UInt64.max.clampedAdding(1) == .max && UInt64(1).clampedSubtracting(2) == 0)
    #expect(Int64.max.clampedAdding(1) == .max && Int64.min.clampedAdding(-1) == .min)
    #expect(Int64.min.clampedSubtracting(1) == .min && Int64.max.clampedSubtracting(-1) == .max)
    #expect(Int64(-2).clampedSubtracting(.max) == .min)
    #expect(Int64.max.clampedMultiplied(by: 2) == .max)
    #expect(Int64.min.clampedMultiplied(by: 2) == .min)
    #expect(Int64.min.clampedMultiplied(by: -1) == .max)
    #expect(Int64(6).clampedMultiplied(by: -7) == -42 && Int64(6).clampedSubtracting(7) == -1)
  }
}
