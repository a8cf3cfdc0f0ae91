internal import Synchronization

extension OutcomeCounters {
  /// The counts of this process so far, such as the number of reports that it has created.
  package static var current: OutcomeCounters { counters.withLock { $0 } }

  /// Adds one to the counter of an outcome.
  package static func count(_ outcome: WritableKeyPath<OutcomeCounters, Int>) {
    counters.withLock { $0[keyPath: outcome] += 1 }
  }
}

private let counters = Mutex(OutcomeCounters())
