internal import Synchronization

/// What came of the cases that were run.
public final class CatalogueResults: Sendable {
  struct Count {
    var runs = 0
    var failed = 0
  }

  private let counts = Mutex<[String: Count]>([:])

  public init() {}

  public func add(_ outcome: CatalogueRun.Outcome) {
    let key = Self.key(outcome.testCase.death.kind, outcome.testCase.condition.name)
    counts.withLock { counts in
      counts[key, default: Count()].runs += 1
      if !outcome.failures.isEmpty { counts[key, default: Count()].failed += 1 }
    }
  }

  public var runs: Int { counts.withLock { $0.values.reduce(0) { $0 + $1.runs } } }
  public var failed: Int { counts.withLock { $0.values.reduce(0) { $0 + $1.failed } } }

  func count(kind: String, condition: String) -> Count {
    counts.withLock { $0[Self.key(kind, condition)] ?? Count() }
  }

  private static func key(_ kind: String, _ condition: String) -> String { "\(kind) \(condition)" }
}
