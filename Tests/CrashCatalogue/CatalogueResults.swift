internal import Synchronization

/// The results of the cases that were run.
public final class CatalogueResults: Sendable {
  struct Count {
    var runs = 0
    var failed = 0
  }

  private let counts = Mutex<[String: Count]>([:])
  private let times = Mutex<[(testCase: String, seconds: Double)]>([])

  public init() {}

  public func add(_ outcome: CatalogueRun.Outcome) {
    let key = Self.key(outcome.testCase.death.kind, outcome.testCase.condition.name)
    times.withLock { $0.append(("\(outcome.testCase)", outcome.seconds)) }
    counts.withLock { counts in
      counts[key, default: Count()].runs += 1
      if !outcome.failures.isEmpty { counts[key, default: Count()].failed += 1 }
    }
  }

  public var runs: Int { counts.withLock { $0.values.reduce(0) { $0 + $1.runs } } }
  public var failed: Int { counts.withLock { $0.values.reduce(0) { $0 + $1.failed } } }

  /// The runs that took the longest.
  public func slowest(_ count: Int) -> [(testCase: String, seconds: Double)] {
    Array(times.withLock { $0 }.sorted { $0.seconds > $1.seconds }.prefix(count))
  }

  func count(kind: String, condition: String) -> Count {
    counts.withLock { $0[Self.key(kind, condition)] ?? Count() }
  }

  private static func key(_ kind: String, _ condition: String) -> String { "\(kind) \(condition)" }
}
