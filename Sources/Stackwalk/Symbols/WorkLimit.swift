internal import Glibc

/// The time by which reading symbols has to end; long loops ask it now and then.
package final class WorkLimit {
  /// Nanoseconds of the monotonic clock; nil for no limit.
  private let deadline: UInt64?
  private var wasReached = false

  /// - Parameter seconds: from now on; nil for no limit.
  package init(seconds: Double?) {
    deadline = seconds.map {
      Self.now &+ (UInt64(exactly: (max(0, min($0, 1e6)) * 1e9).rounded()) ?? 0)
    }
  }

  var isReached: Bool {
    guard let deadline else { return false }
    if !wasReached, Self.now >= deadline { wasReached = true }
    return wasReached
  }

  private static var now: UInt64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
  }
}
