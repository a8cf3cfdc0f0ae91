import CrashTestSupport
import Foundation
import IntermediateDump
import Testing

/// Checks events of real crashes with Sentry's own schema.
@Suite(.needs(.sentryRelay))
struct SentrySchemaTests {
  private struct Result: Decodable {
    let errors: [String]
    let meta: String
    let lost: [String]
    let kind: String
  }

  @Test func nothingOfAnEventIsAnErrorIsCutOrDropped() async throws {
    let crashes = try SentryCrashes()
    try await crashes.crash("index-out-of-range")
    try await crashes.tell()
    try await crashes.hang()
    if !ProofExtent.isSample {
      for kind in ["null-read", "abort", "uncaught-error", "stack-overflow", "sent-quit"] {
        try await crashes.crash(kind)
      }
      try await crashes.crash("await-chain", "--on", "task")
      try await crashes.crash("null-read", "--threads", "300")
      try await crashes.killedRun()
    }
    let ids = try await crashes.process()
    #expect(ids.count == (ProofExtent.isSample ? 3 : 11))
    let dry = try await crashes.upload(
      ids, ["--dsn", "http://key@127.0.0.1/1", "--dry-run", "--json"])
    try #require(dry.end.exitCode == 0, "\(dry.standardError)")
    let directory = try TemporaryDirectory()
    try dry.standardOutput.write(
      toFile: directory.path + "/requests", atomically: true, encoding: .utf8)
    let script = BuiltProducts.packageRoot + "/Tests/Proofs/Sentry/normalize.py"
    let python = try #require(OutsideTool.sentryRelay.path)
    let child = try await ChildProcess.run(
      "/bin/sh", ["-c", "exec \"$0\" \"$1\" < requests", python, script], in: directory.path)
    try #require(child.end.exitCode == 0, "\(child.standardError)")
    let results = try child.standardOutput.split(separator: "\n").map {
      try JSONDecoder().decode(Result.self, from: Data($0.utf8))
    }
    #expect(results.count == ids.count)
    for result in results {
      #expect(result.errors == [], "\(result.kind)")
      #expect(result.meta == "", "\(result.kind)")
      #expect(result.lost == [], "\(result.kind)")
    }
    let kinds = Set(results.map(\.kind))
    #expect(kinds.isSuperset(of: ["SIGILL", "Hang"]), "\(kinds)")
    if !ProofExtent.isSample {
      #expect(kinds.isSuperset(of: ["SIGSEGV", "SIGABRT"]), "\(kinds)")
      #expect(kinds.contains { $0.hasPrefix("RunEnd.") }, "\(kinds)")
    }
  }
}
