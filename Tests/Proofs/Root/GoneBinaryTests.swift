import CrashTestSupport
import Glibc
import ProcessSnapshot
import Testing

/// Crashes of a program whose file is no longer accessible: pages of it that are not in memory cannot be read.
@Suite(.enabled("needs root, for mount") { geteuid() == 0 })
struct GoneBinaryTests {
  /// The linker places the handler's code differently in each build.
  private static let builds: [BuildConfiguration] = [.asTested, .release, .staticRelease]

  @Test(arguments: builds, 0..<3)
  func theEndIsItsOwnAndThereIsACompleteReport(_ build: BuildConfiguration, _: Int) async throws {
    let directory = try TemporaryDirectory()
    let victim = try await BuiltProducts.shared.executable("crash-lab", build)
    let database = directory.path + "/database"
    let child = try await ChildProcess.run(
      victim, ["gone-binary", "--database", database], in: directory.path)
    #expect(child.end.signal == SIGSEGV, "\(child)")
    let reports = try ReportDirectory(database)
    #expect(reports.hasOneCompleteReport, "\(reports.processed)")
    let snapshot = try #require(reports.snapshots.first)
    // A section whose code is on a page that cannot be read would be abandoned.
    #expect(snapshot.capture.sectionsAbandoned == 0, "\(snapshot.capture)")
    let program = try #require(snapshot.modules.first)
    #expect(program.path == "/mnt/file" && !program.buildID.isEmpty, "\(snapshot.modules)")
    #expect(snapshot.modules.count > 1)
    #expect(snapshot.threads.first?.stack.isEmpty == false)
  }
}
