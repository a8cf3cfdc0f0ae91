internal import Glibc

/// The time, the work and the memory that reading symbols of one report may take.
///
/// All readers of one `SymbolSource` share one limit, because a report made by an attacker can name thousands of
/// files. The limit counts work and not only time, so that the same input gives the same report on every machine.
package final class WorkLimit {
  /// Steps of all readers: an entry, a range, a row or sixteen bytes each, some ten nanoseconds.
  package static let maximumSteps = 128 << 20
  /// The maximum number of bytes that all readers keep; growing tables briefly need twice as much.
  package static let maximumBytes = 112 << 20

  /// The deadline in nanoseconds of the monotonic clock; nil for no limit.
  private var deadline: UInt64?
  private var wasLate = false
  private let steps: Int
  private var stepsLeft: Int
  private let bytes: Int
  private var bytesLeft: Int
  private var holders: [Holder] = []
  /// True once memory was refused.
  private(set) var isShortOfMemory = false

  private struct Holder {
    weak var holder: (any MemoryHolder)?
  }

  /// Starts the clock.
  ///
  /// - Parameters:
  ///   - seconds: from now on; nil for no limit.
  ///   - steps: of all readers.
  ///   - bytes: that all readers keep.
  package init(
    seconds: Double? = nil, steps: Int = WorkLimit.maximumSteps,
    bytes: Int = WorkLimit.maximumBytes
  ) {
    (self.steps, self.bytes) = (steps, bytes)
    (stepsLeft, bytesLeft) = (steps, bytes)
    begin(seconds: seconds)
  }

  /// Resets the limit for the next report.
  ///
  /// - Parameter seconds: from now on; nil for no limit.
  func begin(seconds: Double?) {
    deadline = seconds.map {
      Self.now &+ (UInt64(exactly: (max(0, min($0, 1e6)) * 1e9).rounded()) ?? 0)
    }
    stepsLeft = steps
    wasLate = false
    isShortOfMemory = false
  }

  /// Releases all memory of the readers, which are discarded.
  func forgetAll() {
    holders = []
    bytesLeft = bytes
  }

  var hasDeadline: Bool { deadline != nil }

  /// The number of steps that were used.
  package var spentSteps: Int { steps - stepsLeft }

  /// True if most memory is taken.
  var isMostlyTaken: Bool { bytesLeft < bytes / 2 }

  /// True if the limit of time or work has been reached.
  var isReached: Bool {
    if stepsLeft <= 0 { return true }
    guard let deadline else { return false }
    if !wasLate, Self.now >= deadline { wasLate = true }
    return wasLate
  }

  /// A note that names may be missing because the limit of work or memory was reached; otherwise nil.
  var note: String? {
    if stepsLeft <= 0 { return "not all of its names were read: they take too much work" }
    return isShortOfMemory ? "not all of its names were read: they take too much memory" : nil
  }

  /// Counts steps, and checks the clock at intervals.
  ///
  /// - Returns: false if the limit of time or work has been reached.
  func spend(_ count: Int) -> Bool {
    let old = stepsLeft
    stepsLeft = max(0, old - max(0, count))
    // The clock is checked after each such number of steps.
    return old >> 10 == stepsLeft >> 10 ? stepsLeft > 0 && !wasLate : !isReached
  }

  /// Counts one step without checking the clock.
  func step() -> Bool {
    guard stepsLeft > 0 else { return false }
    stepsLeft -= 1
    return true
  }

  /// Counts memory; if it is used up, other readers free data that can be read again.
  func take(_ bytes: Int) -> Bool {
    guard bytes > bytesLeft else {
      bytesLeft -= max(0, bytes)
      return true
    }
    for holder in holders { holder.holder?.forget() }
    guard bytes <= bytesLeft else {
      isShortOfMemory = true
      return false
    }
    bytesLeft -= bytes
    return true
  }

  func giveBack(_ bytes: Int) { bytesLeft += max(0, bytes) }

  func add(_ holder: any MemoryHolder) {
    holders.removeAll { $0.holder == nil }
    holders.append(Holder(holder: holder))
  }

  private static var now: UInt64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
  }
}

/// A reader that caches data that it can read again.
protocol MemoryHolder: AnyObject {
  /// Releases as much memory as possible.
  func forget()
}
