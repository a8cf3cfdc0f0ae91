import CrashTestSupport
import Glibc
import ProcessSnapshot
import Testing

/// Crashes and dumps of a process whose memory cgroup is almost full.
@Suite(.enabled("needs root, for a cgroup") { geteuid() == 0 })
struct MemoryLimitTests {
  private func run(
    in directory: String, kibibytes: Int, threads: Int = 200, _ deed: String
  ) async throws -> ChildProcess {
    let victim = try await BuiltProducts.shared.executable("crash-lab", .asTested)
    return try await ChildProcess.run(
      victim,
      [
        "near-memory-limit", "\(kibibytes)", "\(threads)", deed, "--database",
        directory + "/database",
      ], in: directory)
  }

  /// The KiB that the kernel charges in advance for each processor.
  ///
  /// They count as used, and the group is out of memory before they are returned. Source: Linux mm/memcontrol.c,
  /// MEMCG_CHARGE_BATCH.
  private static let chargedAhead = 252

  @Test(arguments: 0..<5)
  func aCrashEndsByItsOwnSignalWithFewerThreads(_: Int) async throws {
    let directory = try TemporaryDirectory()
    let child = try await run(
      in: directory.path, kibibytes: 256 + Self.chargedAhead, "crash")
    #expect(child.end.signal == SIGSEGV, "\(child.end)")
    let reports = try ReportDirectory(directory.path + "/database")
    #expect(reports.hasOneCompleteReport, "\(reports.processed)")
    let snapshot = try #require(reports.snapshots.first)
    #expect(!snapshot.modules.isEmpty)
    // The list of threads is read after the mappings; its memory is next to their text.
    #expect(snapshot.mappings.contains { $0.path == snapshot.process.executablePath })
    #expect(snapshot.capture.threadsOmitted.map { $0 >= 190 } ?? false)
  }

  @Test func withRoomForThemAllThreadsAreThere() async throws {
    let directory = try TemporaryDirectory()
    let child = try await run(in: directory.path, kibibytes: 8192, "crash")
    #expect(child.end.signal == SIGSEGV, "\(child.end)")
    let reports = try ReportDirectory(directory.path + "/database")
    #expect(reports.hasOneCompleteReport, "\(reports.processed)")
    #expect((reports.snapshots.first?.threads.count ?? 0) > 200)
  }

  @Test func aDumpOfAProcessThatLivesOnIsRefusedBeforeItCouldKillIt() async throws {
    let directory = try TemporaryDirectory()
    let child = try await run(in: directory.path, kibibytes: 256 + Self.chargedAhead, "live")
    #expect(child.end.signal == nil && child.end.exitCode != 0, "\(child.end)")
    #expect(child.standardError.contains("no room for a dump"), "\(child.standardError)")
    #expect(try await run(in: directory.path, kibibytes: 8192, "live").end.exitCode == 0)
  }

  /// The kernel's own memory for a list of 3,000 threads is more than the group has left.
  @Test func aDumpInWhichTheKernelKilledTheProcessSaysSo() async throws {
    let directory = try TemporaryDirectory()
    let child = try await run(in: directory.path, kibibytes: 256, threads: 3000, "crash")
    #expect(child.end.signal == SIGKILL, "\(child.end)")
    let reports = try ReportDirectory(directory.path + "/database")
    let snapshot = try #require(reports.snapshots.first)
    #expect(!snapshot.capture.isComplete)
    let damage = try #require(snapshot.capture.damage)
    #expect(damage.contains("killed the process because memory ran out"), "\(damage)")
  }
}
