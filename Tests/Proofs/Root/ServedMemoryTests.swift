import CrashTestSupport
import Foundation
import Glibc
import ProcessSnapshot
import Testing

/// Processes in which one thread serves the pages of some memory, by userfaultfd or as a file system: they end as
/// without the handler, with a dump that lacks only that memory.
@Suite(.enabled("needs root, for userfaultfd and mount") { geteuid() == 0 })
struct ServedMemoryTests {
  /// Seconds; a thread that waits for the serving thread would wait forever.
  private static let patience = 30

  private func check(_ server: String, _ place: String, signal: Int32?) async throws {
    let directory = try TemporaryDirectory()
    let database = directory.path + "/database"
    let victim = try await BuiltProducts.shared.executable("crash-lab", .asTested)
    let child = try await ChildProcess.run(
      victim, ["served-memory", server, place, "--database", database], in: directory.path,
      patience: Self.patience)
    #expect(
      child.end.signal == signal && child.end.exitCode == (signal == nil ? 0 : nil), "\(child)")
    let reports = try ReportDirectory(database)
    #expect(reports.hasOneCompleteReport, "\(reports.processed) \(reports.leftovers)")
    let snapshot = try #require(reports.snapshots.first)
    #expect(snapshot.capture.sectionsAbandoned ?? 0 == 0)
    #expect(!snapshot.modules.isEmpty)
    #expect(snapshot.threads.allSatisfy { $0.context != nil && !$0.stack.isEmpty })
    let text = try #require(child.standardOutput.split(separator: "\n").first)
    let known = Address(try #require(UInt64(text)))
    // The memory around another register's address, or the extra range that the program named.
    let size = place == "register" ? 128 : 8192
    let bytes = snapshot.memory.bytes(at: known, count: size)
    #expect(bytes.map(Array.init) == [UInt8](repeating: 0x5A, count: size))
  }

  @Test(arguments: ["missing", "minor", "unserved", "fuse", "fuse-detached", "fuse-block"])
  func aRegisterPointsThere(server: String) async throws {
    try await check(server, "register", signal: SIGSEGV)
  }

  @Test(arguments: ["missing", "minor", "unserved", "fuse", "fuse-detached", "fuse-block"])
  func theProgramNamedIt(server: String) async throws {
    try await check(server, "memory", signal: SIGSEGV)
  }

  @Test(arguments: ["missing", "minor", "unserved", "fuse", "fuse-detached"])
  func aDumpWithoutACrash(server: String) async throws {
    try await check(server, "live", signal: nil)
  }

  @Test(arguments: ["stack", "other-stack"]) func itIsAStack(place: String) async throws {
    try await check("missing", place, signal: SIGSEGV)
  }

  @Test(arguments: ["missing", "minor", "fuse"]) func postmortemCapture(server: String) async throws
  {
    let victim = try await LiveVictim()
    let running = try victim.start("served-memory", server, "idle")
    try running.waitForLine { UInt($0) != nil }
    let tool = try await BuiltProducts.shared.executable("postmortem", .asTested)
    let run = try await ChildProcess.run(
      tool, ["capture", "\(running.processID)", "--all-threads"], in: "/tmp",
      patience: Self.patience)
    #expect(run.end.exitCode == 0, "\(run)")
    #expect(try victim.reports().count == 1)
    running.kill()
  }
}
