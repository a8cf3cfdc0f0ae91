import CrashTestSupport
import Glibc
import ProcessSnapshot
import Testing

/// Crashes of a program whose own file is out of reach: what was not read of it cannot be any more.
@Suite(.enabled("needs root, for mount") { geteuid() == 0 })
struct GoneBinaryTests {
  /// Where the linker puts the handler's code differs by build.
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
    // A section that met a page that is gone is abandoned.
    #expect(snapshot.capture.sectionsAbandoned == 0, "\(snapshot.capture)")
    let program = try #require(snapshot.modules.first)
    #expect(program.path == "/mnt/file" && !program.buildID.isEmpty, "\(snapshot.modules)")
    #expect(snapshot.modules.count > 1)
    #expect(snapshot.threads.first?.stack.isEmpty == false)
  }
}
