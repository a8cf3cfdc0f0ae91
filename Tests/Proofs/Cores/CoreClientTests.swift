import CrashCatalogue
import CrashReport
import CrashTestSupport
import Foundation
import ProcessSnapshot
import Testing

/// Annotations and other values that a program has set are the same in the report from the core file and in the
/// report from the dump.
@Suite(.serialized)
struct CoreClientTests {
  /// Runs crash-lab so that it ends with a dump and a core file.
  private func snapshots(
    _ subcommand: (borrowing TemporaryDirectory) throws -> (arguments: [String], database: String)
  ) async throws -> (dump: ProcessSnapshot, core: ProcessSnapshot)? {
    if let obstacle = CoreFile.obstacle, !OutsideTool.mustBeThere {
      print("no core file: \(obstacle)")
      return nil
    }
    let place = try TemporaryDirectory()
    let run = try subcommand(place)
    let executable = try await BuiltProducts.shared.executable("crash-lab", .asTested)
    let directory = try place.subdirectory("run")
    _ = try await ChildProcess.run(
      executable, run.arguments, in: directory,
      environment: ["SWIFT_BACKTRACE": "enable=no"], coreFile: .allowed)
    let pending = run.database + "/pending-serialized-dumps"
    let dumps = try FileManager.default.contentsOfDirectory(atPath: pending).filter {
      !$0.hasSuffix(".run") && !$0.hasSuffix(".fifo")
    }
    try #require(dumps.count == 1, "\(dumps)")
    return (
      try Victim.snapshot(ofDump: pending + "/" + dumps[0]),
      try CoreComparison.snapshot(ofCore: try CoreFile.path(in: directory))
    )
  }

  @Test func annotationsBreadcrumbsAndMemoryOfAProgramThatTellsAll() async throws {
    let found = try await snapshots { place in
      let files = try place.subdirectory("files")
      let database = place.path + "/database"
      return (["tell", "crash", database, files], database)
    }
    guard let (dump, core) = found else { return }
    #expect(dump.client.breadcrumbs.count == 128 && dump.client.annotations.count >= 5)
    let differences = CoreComparison(dump: dump, core: core).differences
    #expect(differences.isEmpty, "\(differences.joined(separator: "\n\n"))")
    #expect(core.client.attachments.isEmpty && !dump.client.attachments.isEmpty)
    let range = try #require(core.client.extraMemory.last)
    #expect(range == dump.client.extraMemory.last)
    // The excerpt from which `postmortem process` makes reports keeps the memory.
    let count = Int(range.size)
    let excerpt = CoreComparison.excerpt(of: core).memory.bytes(at: range.address, count: count)
    #expect(excerpt != nil && excerpt == dump.memory.bytes(at: range.address, count: count))
    let times = zip(core.client.breadcrumbs, dump.client.breadcrumbs).compactMap { core, dump in
      core.time.flatMap { time in dump.time.map { abs(time - $0) } }
    }
    #expect(times.count == 128 && times.allSatisfy { $0 < 1_000_000_000 })
  }

  @Test(arguments: ["task", "thread"])
  func contextsOfAProgramThatWorksOnManyRequests(_ scene: String) async throws {
    let found = try await snapshots { place in
      let database = place.path + "/database"
      return (
        ["work", scene, "500", place.path + "/ledger", "--database", database], database
      )
    }
    guard let (dump, core) = found else { return }
    let thread = try #require(dump.exception?.threadID)
    #expect(dump.client.contextsByThread[thread]?.isEmpty == false)
    // The dump has no contexts of a thread that the handler could not stop.
    #expect(core.client.contextsByThread[thread] == dump.client.contextsByThread[thread])
    for (thread, contexts) in dump.client.contextsByThread {
      #expect(core.client.contextsByThread[thread] == contexts, "\(thread)")
    }
    // Threads that were not stopped may have opened and closed other contexts before the kernel wrote the core
    // file.
    let (kept, later) = (
      dump.client.openContexts?.works ?? [], core.client.openContexts?.works ?? []
    )
    #expect(kept.count > 1 && later.count > 1)
    #expect(kept.first.map(later.contains) == true, "\(kept) \(later)")
    #expect(!dump.client.workBreadcrumbs.isEmpty)
    #expect(core.client.workBreadcrumbs.map(\.text) == dump.client.workBreadcrumbs.map(\.text))
  }
}
