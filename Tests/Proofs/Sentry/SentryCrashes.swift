import CrashReportDatabase
import CrashTestSupport
import Foundation
import Testing

/// Real crashes of crash-lab, and their uploads by `postmortem`.
final class SentryCrashes: Sendable {
  private let directory: TemporaryDirectory
  private let lab: String
  private let tool: String

  init() throws {
    directory = try TemporaryDirectory()
    lab = try BuiltProducts.besideTests("crash-lab")
    tool = try BuiltProducts.besideTests("postmortem")
  }

  private var database: String { directory.path + "/database" }

  func subdirectory(_ name: String) throws -> String { try directory.subdirectory(name) }

  @discardableResult
  func crash(_ words: String...) async throws -> ChildProcess {
    try await ChildProcess.run(
      lab, words + ["--database", database, "--no-summary"], in: directory.path)
  }

  /// Crashes a program that has set annotations and breadcrumbs.
  func tell() async throws {
    _ = try await ChildProcess.run(
      lab, ["tell", "crash", database, try directory.subdirectory("files")], in: directory.path)
  }

  /// Crashes in the context `child` = own, in a forked child.
  func crashInContext() async throws {
    _ = try await ChildProcess.run(
      lab, ["forked-in-flight", "1", "--database", database], in: directory.path)
  }

  /// Kills a run.
  func killedRun() async throws {
    _ = try await ChildProcess.run(
      "/bin/sh", ["-c", "\"$0\" end wait --database \"$1\" & sleep 2; kill -9 $!", lab, database],
      in: directory.path)
  }

  /// Runs a program that hangs for a while and then continues.
  func hang() async throws {
    _ = try await ChildProcess.run(
      lab, ["hang", "heartbeat", "idle", "kept", "--database", database], in: directory.path)
  }

  /// Converts the dumps, and returns the IDs of all reports.
  func process() async throws -> [String] {
    let child = try await ChildProcess.run(tool, ["process", database], in: directory.path)
    try #require(child.end.exitCode == 0, "\(child.standardError)")
    return try reports.map { "\($0.id)" }
  }

  var reports: [StoredReport] { get throws { try CrashReportDatabase(path: database).reports() } }

  func upload(_ ids: [String], _ words: [String]) async throws -> ChildProcess {
    try await ChildProcess.run(
      tool, ["upload", database] + ids + words, in: directory.path, patience: 600)
  }
}
