import CrashTestSupport
import Foundation
import Testing

/// A database engine that runs inside a Python process; the raw value is its name in `Docs/Reference/Export.md`.
enum QueryEngine: String, Sendable, CaseIterable {
  case duckDB = "duckdb"
  case clickHouse = "clickhouse"

  struct Answers: Decodable {
    /// The rows of each answer, by the name of the question.
    let answers: [String: [[AnswerCell]]]
    let seconds: [String: Double]
  }

  /// The module's name on PyPI.
  private var module: String { self == .duckDB ? "duckdb" : "chdb" }

  /// Skips a test if the engine is missing; with CI=true, the test runs and fails.
  var isNeeded: ConditionTrait {
    let isThere = self == .duckDB ? DumpReaders.hasDuckDB : DumpReaders.hasClickHouse
    return .enabled(if: DumpReaders.isWanted(isThere), "needs PyPI's \(module)")
  }

  /// Runs statements in a directory with `crashes.ndjson`.
  func run(
    _ statements: [ExportDocument.Statement], in directory: SharedDirectory
  ) async throws -> Answers {
    struct Entry: Encodable { let name: String?, text: String }
    let list = try JSONEncoder().encode(statements.map { Entry(name: $0.name, text: $0.text) })
    try directory.put([UInt8](list), "\(rawValue).json")
    return try JSONDecoder().decode(
      Answers.self, from: try await Self.python([module, "\(rawValue).json"], in: directory))
  }

  /// Runs `Queries.py`, and returns its output.
  static func python(_ words: [String], in directory: SharedDirectory) async throws -> Data {
    let script = BuiltProducts.packageRoot + "/Tests/Proofs/Export/Queries.py"
    let child = try await ChildProcess.run(
      "/usr/bin/env", ["python3", script] + words, in: directory.path, patience: 600)
    guard child.end.exitCode == 0 else { throw OutsideToolError(child.standardError) }
    return Data(child.standardOutput.utf8)
  }
}
