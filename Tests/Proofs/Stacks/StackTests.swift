import CrashCatalogue
import CrashTestSupport
import Foundation
import ProcessSnapshot
import Stackwalk
import Testing

/// Compares whole stacks, thread by thread, with gdb's on the core file of the same crash.
///
/// `FaithfulDeathTests` compares the crashing thread of many kinds in the same way.
@Suite(.serialized)
struct StackTests {
  @Test(
    .needs(.gdb),
    arguments: BuildConfiguration.dynamic)
  func theBlockedThreadsOfAProgramThatLinksFoundationWithTheirLines(
    _ configuration: BuildConfiguration
  ) async throws {
    let executable = try await BuiltProducts.shared.executable("FoundationVictim", configuration)
    let directory = try TemporaryDirectory()
    let run = try directory.subdirectory("run")
    let child = try await ChildProcess.run(
      executable, [directory.path + "/database"], in: run,
      environment: ["SWIFT_BACKTRACE": "enable=no"], coreFile: .allowed)
    #expect(child.end.signal == SIGSEGV)
    let pending = directory.path + "/database/pending-serialized-dumps/"
    let names = try FileManager.default.contentsOfDirectory(atPath: pending)
      .filter { !$0.hasSuffix(".run") && !$0.hasSuffix(".fifo") }
    try #require(names.count == 1, "\(names)")
    let snapshot = try Victim.snapshot(ofDump: pending + names[0])
    #expect(snapshot.threads.count >= 16)
    if let obstacle = CoreFile.obstacle, !OutsideTool.mustBeThere {
      print("blocked threads: not compared with gdb: \(obstacle)")
      return
    }
    let gdb = try await GDB.view(
      core: try CoreFile.path(in: run), of: executable, directory: try directory.subdirectory("gdb")
    )
    let walker = Stackwalker(snapshot: snapshot, symbols: SymbolSource())
    var comparison = StackComparison()
    var lines = LineComparison(module: executable)
    for thread in snapshot.threads {
      comparison.add(thread, of: snapshot, walker, try #require(gdb.stacks[thread.id]))
      lines.add(
        try #require(gdb.sources[thread.id]), of: snapshot,
        "thread \(thread.name ?? "\(thread.id)")")
    }
    #expect(comparison.frameCount >= 16 * 5)
    #expect(comparison.differences.isEmpty, "\(comparison.differences.joined(separator: "\n"))")
    print("\(configuration): \(lines)")
    // Each way of blocking starts in one of the program's closures.
    #expect(lines.frameCount >= 15)
    try await lines.check(configuration)
  }
}
