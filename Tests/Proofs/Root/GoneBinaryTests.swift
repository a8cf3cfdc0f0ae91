import CrashTestSupport
import Glibc
import ProcessSnapshot
import Testing

/// Crashes of a program whose own file is out of reach: what was not read of it cannot be any more.
@Suite("A binary that is gone", .enabled("needs root, for mount") { geteuid() == 0 })
struct GoneBinaryTests {
  @Test("The end is its own, and there is a complete report", arguments: 0..<3)
  func crash(_: Int) async throws {
    let directory = try TemporaryDirectory()
    let victim = try await BuiltProducts.shared.executable("crash-lab", .asTested)
    let database = directory.path + "/database"
    let child = try await ChildProcess.run(
      victim, ["gone-binary", "--database", database], in: directory.path)
    #expect(child.end.signal == SIGSEGV, "\(child)")
    let reports = try ReportDirectory(database)
    #expect(reports.hasOneCompleteReport, "\(reports.processed)")
    let snapshot = try #require(reports.snapshots.first)
    #expect(snapshot.capture.sectionsAbandoned == 0 || snapshot.capture.sectionsAbandoned == nil)
    #expect(snapshot.modules.contains { $0.path == "/mnt/file" && !$0.buildID.isEmpty })
  }
}
