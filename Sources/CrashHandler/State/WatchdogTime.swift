/// The capturing thread's time limit, counted in the timer ticks that reach the thread.
///
/// A clock alone does not work, because it continues while the process is stopped (SIGSTOP), frozen (a cgroup, a
/// paused container) or without CPU time. After such a pause, the time limit would already be over. With ticks, a
/// pause counts as one tick, however long it is. But a thread with too little CPU time gets fewer ticks. So there is
/// also a limit on clock time, which is ten times as long. Each gap between two ticks counts toward that limit,
/// except gaps of a second or more, which are treated as a pause. So a thread that runs less than once a second has
/// no limit on clock time.
///
/// RUNS-DURING-CRASH.
struct WatchdogTime {
  /// The time between two ticks in milliseconds.
  static var tick: Int { @_noLocks get { 10 } }
  /// How many times longer the limit in clock time is than the limit in ticks.
  private static var clockFactor: UInt64 { 10 }
  /// A gap between ticks of at least this many nanoseconds is treated as a pause, which does not count toward the limit
  /// on clock time.
  private static var standstill: UInt64 { 1_000_000_000 }
  private static var nanosecondsInMillisecond: UInt64 { 1_000_000 }

  private(set) var ticksLeft = 0
  /// The remaining time in nanoseconds by the clock, as opposed to ticks.
  private var clockLeft: UInt64 = 0
  private var lastTick: UInt64 = 0

  @_noLocks
  init() {}

  /// Starts a new time limit.
  ///
  /// - Parameter clock: the time in nanoseconds; 0 if the clock cannot be read, so that only ticks count.
  @_noLocks
  mutating func begin(milliseconds: Int, at clock: UInt64) {
    let nanoseconds =
      UInt64(truncatingIfNeeded: milliseconds) &* WatchdogTime.nanosecondsInMillisecond
    ticksLeft = (milliseconds &+ WatchdogTime.tick &- 1) / WatchdogTime.tick
    clockLeft = nanoseconds &* WatchdogTime.clockFactor
    lastTick = clock
  }

  /// Counts a tick; returns true only at the tick that ends the time limit.
  @_noLocks
  mutating func isOver(atTick clock: UInt64) -> Bool {
    guard ticksLeft > 0 else { return false }
    ticksLeft &-= 1
    let gap = clock > lastTick && lastTick != 0 ? clock &- lastTick : 0
    lastTick = clock
    if gap < WatchdogTime.standstill {
      clockLeft = gap < clockLeft ? clockLeft &- gap : 0
    }
    if clockLeft == 0 { ticksLeft = 0 }
    return ticksLeft == 0
  }
}
