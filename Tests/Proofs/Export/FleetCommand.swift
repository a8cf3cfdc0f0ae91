import CrashConverter
import CrashReportDatabase
import CrashTestSupport
import Foundation

/// `swift run proofs make-reports`: makes a database of many reports, for measuring exports and overviews.
struct FleetCommand {
  private let directory: String
  private let count: Int
  private let hosts: Int

  init(_ arguments: [String]) throws {
    guard arguments.count == 2 || arguments.count == 3, let count = Int(arguments[1]), count > 0
    else {
      throw ProofsCommand.UsageError(description: "make-reports takes a directory and a number")
    }
    directory = arguments[0]
    self.count = count
    hosts = arguments.count == 3 ? Int(arguments[2]) ?? 1 : 1000
  }

  func run() async throws {
    let real = directory + "/real"
    try FileManager.default.createDirectory(atPath: real, withIntermediateDirectories: true)
    let database = try await Self.crash(Self.kinds + Self.kinds, in: real)
    let fleet = try FleetDatabase(
      of: database, at: directory + "/fleet", count: count, hosts: hosts)
    try fleet.make()
    print("\(directory)/fleet: \(count) reports of \(fleet.bodies.count) bodies")
  }

  /// Kinds of crashes that take no time.
  static let kinds = [
    "null-read", "null-write", "null-call", "wild-pointer", "non-canonical", "execute-data",
    "write-to-code", "freed-page", "illegal-instruction", "builtin-trap", "breakpoint",
    "divide-by-zero", "abort", "assert", "double-free", "cxx-exception", "fatal-error",
    "precondition", "unwrap-nil", "index-out-of-range", "integer-overflow", "forced-cast",
    "unowned-after-free", "try-bang", "uncaught-error",
  ]

  /// Writes reports of real crashes into a database, and their facts into its index.
  static func crash(_ kinds: [String], in path: String) async throws -> CrashReportDatabase {
    for kind in kinds {
      let child = try await ChildProcess.run(
        try BuiltProducts.besideTests("crash-lab"), [kind, "--database", path, "--no-summary"],
        in: path)
      guard child.end.signal != nil else {
        throw OutsideToolError("crash-lab \(kind): \(child.end) \(child.standardError)")
      }
    }
    let processed = try processIntermediateDumps(database: path)
    guard processed.count == kinds.count, processed.allSatisfy({ $0.outcome == .complete }) else {
      throw OutsideToolError("\(processed)")
    }
    return try CrashReportDatabase(path: path)
  }
}
