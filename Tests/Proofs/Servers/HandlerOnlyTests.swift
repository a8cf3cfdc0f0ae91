import CrashReportDatabase
import CrashTestSupport
import Foundation
import Minidump
import ProcessSnapshot
import Testing

/// The example `HandlerOnly`, and `postmortem`, which processes its dumps.
@Suite struct HandlerOnlyTests {
  private let directory: SharedDirectory
  private var database: String { directory.path + "/database" }

  init() throws { directory = try SharedDirectory() }

  @Test func aCommandAfterItsCrashMakesTheReport() async throws {
    try await crash()
    let tool = try await ChildProcess.run(
      try BuiltProducts.besideTests("postmortem"), ["process", database], in: directory.path)
    #expect(tool.end.exitCode == 0, "\(tool.standardOutput)\(tool.standardError)")
    try expectReport()
  }

  @Test func aWatcherBesideItMakesTheReportWhileItWaitsForMore() async throws {
    try FileManager.default.createDirectory(atPath: database, withIntermediateDirectories: false)
    let watcher = try RunningVictim(
      try BuiltProducts.besideTests("postmortem"), ["watch", database, "--create"])
    try await crash()
    // A line that the owner of the dump still runs may come first. The crash location may be missing, if looking
    // up its name took too long.
    try watcher.waitForLine { $0.contains(": SIG") }
    try expectReport()
    watcher.kill()
  }

  private func crash() async throws {
    let program = try await ChildProcess.run(
      "/bin/sh",
      [
        "-c", "printf '1\\nboom\\n' | exec \"$0\" \"$1\"",
        try BuiltProducts.besideTests("HandlerOnly"), database,
      ], in: directory.path)
    #expect(program.end.exitCode ?? 0 > 128 || program.end.signal != nil, "\(program.end)")
  }

  private func expectReport() throws {
    let reports = try CrashReportDatabase(path: database).reports()
    try #require(reports.count == 1)
    let bytes = try Data(contentsOf: URL(fileURLWithPath: reports[0].path))
    let snapshot = try MinidumpReader.snapshot(of: [UInt8](bytes))
    let line = snapshot.client.annotations.first { $0.name == "line" }
    #expect(line?.value == .text("boom"), "\(snapshot.client.annotations)")
  }
}
