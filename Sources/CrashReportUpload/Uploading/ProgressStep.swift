internal import Synchronization

/// Lets one call of many through: the first in each MiB.
final class ProgressStep: Sendable {
  private let last = Atomic<Int64>(0)

  /// True if a new MiB has begun.
  func advances(to bytes: Int64) -> Bool {
    let step = bytes >> 20
    return last.exchange(step, ordering: .relaxed) != step
  }
}
