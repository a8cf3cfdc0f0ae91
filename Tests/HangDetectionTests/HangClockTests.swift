import Testing

@testable import HangDetection

@Suite struct HangClockTests {
  private static let turn: UInt64 = 100

  @Test func countsTurnsThatWereOnTime() {
    var clock = HangClock(now: 1000)
    #expect(clock.advance(to: 1100, after: Self.turn) == 100)
    #expect(clock.advance(to: 1300, after: Self.turn) == 200)
  }

  @Test func countsNothingOfAStandstill() {
    var clock = HangClock(now: 1000)
    #expect(clock.advance(to: 1_000_000, after: Self.turn) == 0)
    // After the gap, time counts as before.
    #expect(clock.advance(to: 1_000_110, after: Self.turn) == 110)
  }

  @Test func aClockThatGoesBackCountsNothing() {
    var clock = HangClock(now: 1000)
    #expect(clock.advance(to: 900, after: Self.turn) == 0)
    #expect(clock.advance(to: 1000, after: Self.turn) == 100)
  }
}

@Suite struct ThreadActivityTests {
  private static func stat(_ name: String, _ state: String, _ user: String) -> ArraySlice<UInt8> {
    Array("42 (\(name)) \(state) 1 1 1 0 -1 4194560 0 0 0 0 \(user) 50 0 0 20 0 1 0 9 0 0\n".utf8)[
      ...]
  }

  @Test func readsTimesBehindAnyName() throws {
    for name in ["a", "a) R 1 (b", ""] {
      let activity = try #require(
        ThreadActivity(statText: Self.stat(name, "S", "150"), ticksPerSecond: 100))
      #expect(activity.cpuTime == 2_000_000_000)
      #expect(!activity.isStopped)
    }
    #expect(
      ThreadActivity(statText: Self.stat("a", "T", "1"), ticksPerSecond: 100)?.isStopped == true)
    #expect(
      ThreadActivity(statText: Self.stat("a", "t", "1"), ticksPerSecond: 100)?.isStopped == true)
  }

  @Test func otherTextIsNone() {
    #expect(ThreadActivity(statText: [], ticksPerSecond: 100) == nil)
    #expect(ThreadActivity(statText: Array("1 (a) R 1 2".utf8)[...], ticksPerSecond: 100) == nil)
    #expect(ThreadActivity(statText: Self.stat("a", "R", "x"), ticksPerSecond: 100) == nil)
    #expect(
      ThreadActivity(statText: Self.stat("a", "R", "18446744073709551615"), ticksPerSecond: 100)
        == nil)
  }
}
