import CrashConverter
import CrashTestSupport
import Foundation
import Testing

/// The files of Examples/Deployment, tested without a container engine.
@Suite(.needs(.systemdAnalyze))
struct DeploymentTests {
  private static let examples = BuiltProducts.packageRoot + "/Examples/Deployment"

  @Test func theUnitIsOneThatSystemdAccepts() async throws {
    let directory = try SharedDirectory()
    let unit = try String(contentsOfFile: Self.examples + "/server.service", encoding: .utf8)
    // The programs that the unit names are not installed on this machine.
    let installed = unit.replacing("/usr/local/bin/postmortem", with: "/bin/true")
    try installed.write(
      toFile: directory.path + "/server.service", atomically: false, encoding: .utf8)
    let tool = try #require(OutsideTool.systemdAnalyze.path)
    let child = try await ChildProcess.run(
      tool, ["verify", directory.path + "/server.service"], in: directory.path)
    #expect(child.end.exitCode == 0 && child.standardError.isEmpty, "\(child.standardError)")
  }

  @Test(arguments: [
    ("null-read", SIGSEGV), ("abort", SIGABRT), ("stack-overflow", SIGSEGV),
    ("fatal-error", SIGILL),
  ])
  func theUnitsFilterLeavesTheReport(_ kind: String, _ signal: Int32) async throws {
    let unit = try String(contentsOfFile: Self.examples + "/server.service", encoding: .utf8)
    // If the filter returned an error number instead of killing, a passing run would prove little.
    try #require(unit.contains("\nSystemCallFilter=@system-service\n"))
    try #require(!unit.contains("SystemCallErrorNumber="))
    let directory = try SharedDirectory()
    let database = directory.path + "/database"
    let python = try #require(OutsideTool.python3.path)
    let script = BuiltProducts.packageRoot + "/Tests/Proofs/Servers/SystemServiceFilter.py"
    let child = try await ChildProcess.run(
      python,
      [script, try BuiltProducts.besideTests("crash-lab"), kind, "--database", database],
      in: directory.path)
    #expect(child.end.signal == signal, "\(child.end) \(child.standardError)")
    let processed = try processIntermediateDumps(database: database)
    #expect(processed.map(\.outcome) == [.complete], "\(processed)")
    #expect(processed.first?.summary?.signal == signal)
  }
}
