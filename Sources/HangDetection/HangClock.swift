/// Counts only the time in which the one who counts ran when it should have.
///
/// The whole process may stand still: stopped by a signal, in a container that is paused, on a
/// machine that is frozen or asleep. Nothing that is watched can answer then, and the watching
/// thread is late by as much. So a turn that took more than twice its time counts for nothing; of a
/// hang that is real only the count comes later.
struct HangClock {
  private var last: UInt64

  /// - Parameter now: CLOCK_BOOTTIME in nanoseconds, which goes on while the machine sleeps.
  init(now: UInt64) { last = now }

  /// - Parameter turn: how long the thread meant to sleep, in nanoseconds.
  /// - Returns: the nanoseconds that count.
  mutating func advance(to now: UInt64, after turn: UInt64) -> UInt64 {
    let elapsed = now >= last ? now - last : 0
    last = now
    return elapsed <= 2 * turn ? elapsed : 0
  }
}
