import Testing

@testable import CrashHandler

/// The time that counts for the time limit of a capture; the tests pass clock values and read no clock.
@Suite struct WatchdogTimeTests {
  private static let millisecond: UInt64 = 1_000_000
  private static let start: UInt64 = 5_000_000_000

  private func time(_ milliseconds: Int, clock: UInt64 = start) -> WatchdogTime {
    var time = WatchdogTime()
    time.begin(milliseconds: milliseconds, at: clock)
    return time
  }

  /// The number of ticks until the time is over, with a given number of milliseconds between ticks.
  private func ticks(of time: WatchdogTime, gap: UInt64, clock: UInt64 = start) -> Int {
    var (time, clock) = (time, clock)
    for count in 1...10_000 {
      clock += gap * Self.millisecond
      if time.isOver(atTick: clock) { return count }
    }
    return 0
  }

  /// The answer of each tick, at the given milliseconds after the start.
  private func answers(of time: WatchdogTime, at milliseconds: [UInt64]) -> [Bool] {
    var time = time
    return milliseconds.map { time.isOver(atTick: Self.start + $0 * Self.millisecond) }
  }

  @Test func ticksInTimeAreTheTime() {
    #expect(ticks(of: time(2250), gap: 10) == 225)
    #expect(ticks(of: time(1), gap: 10) == 1)
    #expect(ticks(of: time(15), gap: 10) == 2)
  }

  @Test func aStandstillIsOneTick() {
    // The process is stopped for an hour.
    #expect(answers(of: time(30), at: [10, 3_600_000, 3_600_010]) == [false, false, true])
    #expect(ticks(of: time(2250), gap: 3_500) == 225)
  }

  @Test func aThreadThatGetsTooLittleOfTheProcessorHasTenTimesTheTime() {
    #expect(ticks(of: time(2250), gap: 100) == 225)
    #expect(ticks(of: time(2250), gap: 500) == 45)
    #expect(ticks(of: time(2250), gap: 999) == 23)
  }

  @Test func withoutAClockTicksCount() {
    var time = time(30, clock: 0)
    let answers = (0..<3).map { _ in time.isOver(atTick: 0) }
    #expect(answers == [false, false, true])
  }

  @Test func itIsOverOnce() {
    #expect(answers(of: time(10), at: [10, 20, 30]) == [true, false, false])
    #expect(answers(of: time(0), at: [10]) == [false])
  }
}
