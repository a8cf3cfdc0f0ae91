internal import Synchronization

extension OutcomeCounters {
  /// As they are now.
  package static var current: OutcomeCounters { counters.withLock { $0 } }

  /// Counts one.
  package static func count(_ outcome: WritableKeyPath<OutcomeCounters, Int>) {
    counters.withLock { $0[keyPath: outcome] += 1 }
  }
}

private let counters = Mutex(OutcomeCounters())
