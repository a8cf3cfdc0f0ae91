import CrashAnalysis
import CrashCatalogue
import CrashReport
import CrashReportDatabase
import CrashTestSupport
import Foundation
import IntermediateDump
import Minidump
import ProcessSnapshot
import Stackwalk
import Testing

/// The kernel's core file and the handler's dump of one crash make the same report, with the frames that gdb
/// finds.
@Suite(.serialized)
struct CoreReportTests {
  static let isFull =
    ProcessInfo.processInfo.environment["POSTMORTEM_CORES"] == "all"

  /// One kind from each family; with `--full`, all kinds that leave a core file.
  ///
  /// SIGPIPE leaves no core file, and the limit on file sizes truncates the core file too.
  private static let kinds: [String] =
    isFull
    ? KnownCrash.all.map(\.kind).filter { !["pipe", "file-size-limit"].contains($0) }
    : ["index-out-of-range", "cxx-exception", "double-free", "null-call", "await-chain"]

  private static let configurations: [BuildConfiguration] =
    isFull ? BuildConfiguration.dynamic : [.asTested]

  /// The crash place of a kind, the same in each run.
  private static func place(of kind: String) -> CrashPlace {
    switch kind {
    case "await-chain": .task
    case "double-free", "null-call": .pthread
    default:
      KnownCrash.all.first { $0.kind == kind }.flatMap { known in
        known.places.contains(.main) ? nil : known.places.first
      } ?? .main
    }
  }

  @Test(.needs(.gdb), arguments: kinds, configurations)
  func asFromTheDumpAndAsGdb(_ kind: String, _ configuration: BuildConfiguration) async throws {
    if let obstacle = CoreFile.obstacle, !OutsideTool.mustBeThere {
      print("\(kind): no core file: \(obstacle)")
      return
    }
    let victim = try await Victim(configuration)
    _ = try await victim.die(kind, on: Self.place(of: kind), coreFile: .allowed)
    let pending = victim.database + "/pending-serialized-dumps/"
    let dumps = try victim.pendingFiles().filter {
      !$0.hasSuffix(".run") && !$0.hasSuffix(".fifo")
    }
    try #require(dumps.count == 1, "\(dumps)")
    let dump = try Victim.snapshot(ofDump: pending + dumps[0])
    let path = try CoreFile.path(in: try victim.directory("handled"))
    let core = try CoreComparison.snapshot(ofCore: path)
    #expect(core.capture.isComplete && core.capture.isCoreFile && !dump.capture.isCoreFile)
    let comparison = CoreComparison(dump: dump, core: core)
    #expect(comparison.frameCount >= 8)
    #expect(comparison.differences.isEmpty, "\(comparison.differences.joined(separator: "\n\n"))")

    let gdb = try await GDB.view(
      core: path, of: victim.executable, directory: try victim.directory("gdb"))
    #expect(Set(core.threads.map(\.id)) == Set(gdb.threads))
    #expect(core.exception?.threadID == gdb.crashedThread && core.exception?.signal == gdb.signal)
    let walker = Stackwalker(snapshot: core, symbols: SymbolSource())
    var stacks = StackComparison()
    stacks.add(try #require(core.crashedThread), of: core, walker, gdb.frames)
    #expect(stacks.frameCount >= 3)
    #expect(stacks.differences.isEmpty, "\(stacks.differences.joined(separator: "\n"))")
  }

  @Test(.needs(.gdb))
  func aCoreFileByAPipeCompressedCutOffAndAsAReportOfADatabase() async throws {
    if let obstacle = CoreFile.obstacle, !OutsideTool.mustBeThere {
      print("no core file: \(obstacle)")
      return
    }
    let victim = try await Victim(.asTested)
    _ = try await victim.dieAlone("double-free", on: .main, coreFile: .allowed)
    let place = try victim.directory("alone")
    let core = try CoreFile.path(in: place)
    let tool = try await BuiltProducts.shared.executable("postmortem", .asTested)
    func run(_ line: String) async throws -> ChildProcess {
      try await ChildProcess.run(
        "/bin/sh", ["-c", line, tool, core], in: place,
        environment: ["TMPDIR": place, "PATH": ProcessInfo.processInfo.environment["PATH"] ?? ""])
    }
    let direct = try await run("\"$0\" show --no-cache \"$1\"")
    #expect(direct.end.exitCode == 0 && direct.standardOutput.contains("free(): double free"))
    #expect(!direct.standardOutput.contains("torn"))
    for line in [
      "\"$0\" show --no-cache - < \"$1\"", "cat \"$1\" | \"$0\" show --no-cache -",
      "zstd -q -c \"$1\" | \"$0\" show --no-cache --spool . -",
      "lz4 -q -c \"$1\" > core.lz4; \"$0\" show --no-cache ./core.lz4; r=$?; rm core.lz4; exit $r",
    ] {
      let other = try await run(line)
      #expect(other.end.exitCode == 0, "\(line): \(other.standardError)")
      #expect(other.standardOutput == direct.standardOutput, "\(line)")
    }
    let missing = try await run("zstd -q -c \"$1\" | PATH=/nowhere \"$0\" show -")
    #expect(missing.end.exitCode == 1 && missing.standardError.contains("install the program zstd"))
    // No temporary files are left.
    #expect(try FileManager.default.contentsOfDirectory(atPath: place).count == 1)
    let cut = try await run("head -c 3000000 \"$1\" | \"$0\" show -")
    #expect(cut.standardOutput.contains("the core file is cut off"), "\(cut)")

    let process = "\"$0\" process --create --quiet --cores . \(victim.database)"
    let first = try await run(process)
    #expect(first.end.exitCode == 0, "\(first.standardError)")
    let reports = try victim.reports()
    try #require(reports.count == 1)
    #expect(direct.standardOutput.contains("\(reports[0].id)"))
    _ = try await run(process)
    #expect(try victim.reports().count == 1)
    let size = try FileManager.default.attributesOfItem(atPath: reports[0].path)[.size] as? Int
    #expect((size ?? 0) < 4 << 20)
    let stored = CrashReport(
      snapshot: try Victim.snapshot(of: reports[0]), symbolicating: true)
    let shown = CrashReport(
      snapshot: try CoreComparison.snapshot(ofCore: core), symbolicating: true)
    #expect(stored.signature == shown.signature && stored.message == shown.message)
    #expect(
      stored.threads.map { $0.frames.map(\.address) }
        == shown.threads.map { $0.frames.map(\.address) })
  }
}
