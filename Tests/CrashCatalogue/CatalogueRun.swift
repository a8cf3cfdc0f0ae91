internal import CrashTestSupport
internal import Foundation

/// Runs cases of the catalogue, each once without a handler and once with it, and checks their reports.
public actor CatalogueRun {
  /// The result of one case.
  public struct Outcome: Sendable {
    public let testCase: CatalogueCase
    /// The differences from the expected result; empty if there are none.
    public let failures: [String]
    public let seconds: Double
  }

  private let symbols: VictimSymbols
  private let modules: VictimModules
  private let root: CatalogueRoot?
  private var endsAlone: [String: Alone] = [:]

  struct Alone: Sendable {
    let end: ChildEnd
    let output: String
  }

  /// - Parameter root: the root in which crash-lab runs; nil for this machine's own.
  public init(in root: CatalogueRoot? = nil) async throws {
    self.root = root
    symbols = VictimSymbols(directories: root.map { [$0.libraries] } ?? [])
    modules = try await VictimModules()
  }

  /// Runs cases, several at a time.
  ///
  /// - Parameters:
  ///   - width: the number of cases at a time; the number of processors plus one if not given.
  ///   - report: called for each case as it ends, one at a time.
  public func run(
    _ cases: [CatalogueCase], width: Int? = nil, report: @escaping @Sendable (Outcome) -> Void
  ) async {
    let width = width ?? ProcessInfo.processInfo.activeProcessorCount + 1
    await withTaskGroup(of: Outcome.self) { group in
      var next = 0
      while next < min(width, cases.count) {
        let testCase = cases[next]
        group.addTask { await self.outcome(testCase) }
        next += 1
      }
      while let outcome = await group.next() {
        report(outcome)
        guard next < cases.count else { continue }
        let testCase = cases[next]
        group.addTask { await self.outcome(testCase) }
        next += 1
      }
    }
  }

  private func outcome(_ testCase: CatalogueCase) async -> Outcome {
    let clock = ContinuousClock()
    let start = clock.now
    let failures: [String]
    do {
      failures = try await self.failures(testCase)
    } catch let hung as HungChild {
      failures = ["\(hung)"]
    } catch {
      failures = ["could not be run: \(error)"]
    }
    return Outcome(
      testCase: testCase, failures: failures, seconds: start.duration(to: clock.now) / .seconds(1))
  }

  private func failures(_ testCase: CatalogueCase) async throws -> [String] {
    let victim = try await CatalogueVictim(testCase, modules, root)
    let alone = try await self.alone(testCase, victim)
    let before = try await victim.leaveDumps(testCase.condition.dumpsBefore)
    let handled = try await victim.die(handled: true)
    var failures: [String] = []
    if case .crash(let crash) = testCase.death, !testCase.condition.endsOtherwise,
      alone.end.signal != crash.signal
    {
      failures.append("without a handler: \(alone.end), not signal \(crash.signal)")
    }
    if handled.end != alone.end {
      failures.append("ended by \(handled.end), without a handler by \(alone.end)")
    }
    if testCase.condition.comparesOutput, testCase.hasSameOutput,
      handled.standardOutput != alone.output
    {
      failures.append("printed \(handled.standardOutput), without a handler \(alone.output)")
    }
    let isolated = CatalogueReports(testCase: testCase, symbols: symbols)
    let log = handled.standardOutput + handled.standardError
    failures += try await Self.offActor {
      try isolated.failures(database: victim.database, before: before, log: log)
    }
    if !failures.isEmpty, !handled.standardError.isEmpty {
      failures.append("standard error: \(handled.standardError.suffix(600))")
    }
    return failures
  }

  /// The run without a handler, once for all repetitions of a case.
  private func alone(
    _ testCase: CatalogueCase, _ victim: CatalogueVictim
  ) async throws -> Alone {
    if let known = endsAlone[testCase.description] { return known }
    let child = try await victim.die(handled: false)
    let alone = Alone(end: child.end, output: child.standardOutput)
    endsAlone[testCase.description] = alone
    return alone
  }

  /// Conversion and reading use the processor for a while, so they do not run on this actor.
  @concurrent
  private static func offActor<Value: Sendable>(
    _ body: @Sendable () throws -> Value
  ) async throws -> Value { try body() }
}

extension CatalogueCase {
  /// False if a handler of the program asks for its alternate stack: with our handler, it finds ours.
  fileprivate var hasSameOutput: Bool {
    guard case .crash(let crash) = death else { return true }
    return !(crash.overflowsStack && condition.group == .handlers)
  }
}
