internal import Synchronization

extension OutcomeCounters {
  /// The current values of the counters.
  package static var current: OutcomeCounters { counters.withLock { $0 } }

  /// Adds one to the counter of an outcome.
  package static func count(_ outcome: WritableKeyPath<OutcomeCounters, Int>) {
    counters.withLock { $0[keyPath: outcome] += 1 }
  }
}

private let counters = Mutex(OutcomeCounters())
