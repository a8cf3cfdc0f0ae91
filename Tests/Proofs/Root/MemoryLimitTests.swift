import CrashAnalysis
import CrashTestSupport
import Foundation
import Glibc
import IntermediateDump
import ProcessSnapshot
import Stackwalk
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

  /// More mappings than the table of a dump holds: of those without a path, the ones around the stack pointer are known.
  ///
  /// Only with `--full`, because `vm.max_map_count` is the same for all processes, and other proofs compare it.
  @Test(
    .enabled("only with --full") { unsafe getenv("POSTMORTEM_ROOT") != nil }, .serialized,
    arguments: [
      ("null-write", "main", "null-dereference"), ("stack-overflow", "main", "stack-overflow"),
      ("stack-overflow", "pthread", "stack-overflow"),
    ])
  func moreMappingsThanTheTableHolds(kind: String, place: String, cause: String) async throws {
    let limit = "/proc/sys/vm/max_map_count"
    let before = try KernelFile.text(limit)
    try write("400000", to: limit)
    defer { try? write(before, to: limit) }
    let directory = try TemporaryDirectory()
    let database = directory.path + "/database"
    let victim = try await BuiltProducts.shared.executable("crash-lab", .asTested)
    let child = try await ChildProcess.run(
      victim, [kind, "--on", place, "--condition", "many-mappings", "--database", database],
      in: directory.path, environment: ["CRASHLAB_MAPPINGS": "250000"])
    #expect(child.end.signal == SIGSEGV, "\(child)")
    let reports = try ReportDirectory(database)
    #expect(reports.hasOneCompleteReport, "\(reports.processed)")
    let snapshot = try #require(reports.snapshots.first)
    #expect(snapshot.process.mappingCount.map { $0 > 250_000 && $0 < 251_000 } ?? false)
    let verdict = Verdict(of: snapshot)
    #expect(verdict.cause?.kind == cause)
    #expect(verdict.cause?.certainty == .certain)
    #expect(verdict.trace.frames.count > 5)
    #expect(snapshot.modules.contains { $0.path.hasSuffix("/libc.so.6") })
  }

  private func write(_ text: String, to path: String) throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
  }
}
