internal import Glibc
internal import Synchronization

/// Counts the reads that the system refused for a temporary reason, such as no free descriptor, no memory, or a disk
/// error.
///
/// Files that may be missing are read with functions that return nil for every failure. Code that makes a permanent
/// decision from such reads uses this type to check that none of them was refused. Crash code does not use this type.
package enum SystemRefusals {
  /// The number of refusals on all threads in the upper 32 bits; the last error number in the lower 32 bits.
  private static let state = Atomic<UInt64>(0)

  /// The number of refusals up to a point in time.
  package struct Point: Sendable {
    fileprivate let count: UInt64

    /// The last error number if a read was refused since this point; nil if no read was refused.
    ///
    /// Refusals on other threads also count; at worst they delay a decision unnecessarily.
    package var refusalSince: Int32? {
      let now = SystemRefusals.state.load(ordering: .relaxed)
      return now >> 32 == count ? nil : Int32(truncatingIfNeeded: now)
    }
  }

  /// The number of reads that the system has refused so far.
  package static var now: Point { Point(count: state.load(ordering: .relaxed) >> 32) }

  /// True for an error that is usually temporary.
  ///
  /// A missing file or a missing permission does not count as temporary.
  package static func isPassing(_ errno: Int32) -> Bool {
    [EIO, EMFILE, ENFILE, ENOMEM, ENOSPC, EDQUOT, ESTALE, EINTR, EAGAIN, ETIMEDOUT].contains(errno)
  }

  /// Counts an error if the error is temporary.
  package static func note(_ errno: Int32) {
    guard isPassing(errno) else { return }
    var known = state.load(ordering: .relaxed)
    while true {
      let next = (known >> 32 &+ 1) << 32 | UInt64(UInt32(bitPattern: errno))
      let (isDone, found) = state.weakCompareExchange(
        expected: known, desired: next, ordering: .relaxed)
      if isDone { return }
      known = found
    }
  }
}
