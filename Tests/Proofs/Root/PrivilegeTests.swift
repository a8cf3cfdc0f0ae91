import CrashTestSupport
import Glibc
import ProcessSnapshot
import Testing

/// A program drops privileges after it has started the handler, which has opened everything that it needs by
/// then.
@Suite(.enabled("needs root") { geteuid() == 0 })
struct PrivilegeTests {
  private static let scenes = ["null-read", "abort", "fatal-error", "stack-overflow"].flatMap {
    kind in
    ["main", "dispatch"].filter { kind != "stack-overflow" || $0 == "main" }
      .map { Scene(kind: kind, place: $0) }
  }

  @Test(
    arguments: scenes,
    ["other-user", "other-root", "other-user-and-root", "not-dumpable"])
  func theSameEndAndOneCompleteReport(_ scene: Scene, _ condition: String) async throws {
    let directory = try TemporaryDirectory()
    let victim = try await BuiltProducts.shared.executable("crash-lab", .asTested)
    let database = directory.path + "/database"
    var ends: [ChildEnd] = []
    for handler in [["--no-handler"], ["--database", database]] {
      let child = try await ChildProcess.run(
        victim, scene.arguments + ["--condition", condition] + handler,
        in: try directory.subdirectory("run"), environment: ["SWIFT_BACKTRACE": "enable=no"])
      ends.append(child.end)
    }
    #expect(ends[0].signal != nil)
    #expect(ends[1] == ends[0])
    let reports = try ReportDirectory(database)
    #expect(reports.hasOneCompleteReport, "\(reports.processed)")
    let snapshot = try #require(reports.snapshots.first)
    // Under these conditions too, the handler stops and reads threads, finds modules and copies stacks.
    #expect(snapshot.threads.count > scene.sleepers)
    #expect(snapshot.threads.allSatisfy { $0.context != nil && !$0.stack.isEmpty })
    #expect(snapshot.modules.contains { $0.path == victim })
  }
}
