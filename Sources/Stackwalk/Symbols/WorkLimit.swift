internal import Glibc

/// Limits the time, the work and the memory for reading the symbols of one report.
///
/// All readers of one `SymbolSource` share one limit, because an attacker's report can name thousands of files. Work is
/// counted in steps and not in seconds. So, unless a time limit is reached, the same input gives the same report on
/// every machine.
package final class WorkLimit {
  /// The maximum number of steps of all readers together.
  ///
  /// Reading an entry, a range, a row or sixteen bytes counts as one step, and takes about ten nanoseconds.
  package static let maximumSteps = 128 << 20
  /// The maximum number of bytes that all readers together keep; growing tables briefly need twice as much.
  package static let maximumBytes = 112 << 20

  /// The deadline in nanoseconds of the monotonic clock; nil for no time limit.
  private var deadline: UInt64?
  private var wasLate = false
  private let steps: Int
  private var stepsLeft: Int
  private let bytes: Int
  private var bytesLeft: Int
  private var holders: [Holder] = []
  /// True after a reader was refused memory, because the limit was reached.
  private(set) var isShortOfMemory = false

  private struct Holder {
    weak var holder: (any MemoryHolder)?
  }

  /// Makes a limit and starts its clock.
  ///
  /// - Parameters:
  ///   - seconds: the number of seconds from now; nil for no time limit.
  ///   - steps: the maximum number of steps of all readers together.
  ///   - bytes: the maximum number of bytes that all readers together keep.
  package init(
    seconds: Double? = nil, steps: Int = WorkLimit.maximumSteps,
    bytes: Int = WorkLimit.maximumBytes
  ) {
    (self.steps, self.bytes) = (steps, bytes)
    (stepsLeft, bytesLeft) = (steps, bytes)
    begin(seconds: seconds)
  }

  /// Resets the limits of time and steps for the next report, but not the limit of memory, because the readers keep
  /// their memory.
  ///
  /// - Parameter seconds: the number of seconds from now; nil for no time limit.
  func begin(seconds: Double?) {
    deadline = seconds.map {
      Self.now &+ (UInt64(exactly: (max(0, min($0, 1e6)) * 1e9).rounded()) ?? 0)
    }
    stepsLeft = steps
    wasLate = false
    isShortOfMemory = false
  }

  /// Counts all memory as free again, after the caller has discarded the readers.
  func forgetAll() {
    holders = []
    bytesLeft = bytes
  }

  var hasDeadline: Bool { deadline != nil }

  /// The number of steps that were used.
  package var spentSteps: Int { steps - stepsLeft }

  /// True if more than half of the memory is taken.
  var isMostlyTaken: Bool { bytesLeft < bytes / 2 }

  /// True if the limit of time or work has been reached.
  var isReached: Bool {
    if stepsLeft <= 0 { return true }
    guard let deadline else { return false }
    if !wasLate, Self.now >= deadline { wasLate = true }
    return wasLate
  }

  /// A note that names may be missing because the limit of work or memory was reached; nil if neither was.
  var note: String? {
    if stepsLeft <= 0 { return "not all of its names were read: they take too much work" }
    return isShortOfMemory ? "not all of its names were read: they take too much memory" : nil
  }

  /// Counts steps, and checks the clock from time to time.
  ///
  /// - Returns: false if the limit of time or work has been reached.
  func spend(_ count: Int) -> Bool {
    let old = stepsLeft
    stepsLeft = max(0, old - max(0, count))
    // The clock is checked once every 1,024 steps.
    return old >> 10 == stepsLeft >> 10 ? stepsLeft > 0 && !wasLate : !isReached
  }

  /// Counts one step without checking the clock; returns false if no steps are left.
  func step() -> Bool {
    guard stepsLeft > 0 else { return false }
    stepsLeft -= 1
    return true
  }

  /// Takes memory from the limit; returns false if not enough is left.
  ///
  /// If not enough memory is left, all readers first free the data that they can read again.
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

/// A reader that caches data, and can read the data again after it was freed.
protocol MemoryHolder: AnyObject {
  /// Frees cached data, to release as much memory as possible.
  func forget()
}
