import CrashTestSupport
import Glibc
import IntermediateDump
import ProcessSnapshot
import Testing

/// The victim as the first process of a PID namespace, as in a container: there the kernel discards signals with
/// the default action, and only a fault of an instruction ends the process.
@Suite(.enabled("needs root") { geteuid() == 0 })
struct FirstProcessTests {
  /// Kinds that fault, that trap after the instruction, that abort, and that send a signal which the process
  /// survives.
  static let kinds = [
    "null-read", "breakpoint", "seccomp", "fatal-error", "abort", "double-free", "sent-segv",
    "sent-abort",
  ]

  @Test(arguments: kinds, BuildConfiguration.dynamic)
  func theSameEndAndAReport(_ kind: String, _ configuration: BuildConfiguration) async throws {
    let victim = try await Victim(configuration)
    let alone = try await first(victim, [kind, "--no-handler"], in: "alone")
    let handled = try await first(victim, [kind, "--database", victim.database], in: "handled")
    #expect(handled.end == alone.end)
    let lines = try await victim.process()
    #expect(lines.count == 1)
    let report = try #require(try victim.reports().first)
    let snapshot = try Victim.snapshot(of: report)
    #expect(snapshot.process.processID == 1)
    #expect(snapshot.capture.isComplete)
    // abort() continues until the process ends, even if the kernel discards the signal.
    let isSurvived = kind == "sent-segv" || kind == "sent-abort"
    #expect(snapshot.survival?.outcome == (isSurvived ? .discarded : nil))
  }

  /// A handler for SIGABRT, or Swift's backtracer, returns; abort() then continues.
  @Test(arguments: [false, true])
  func anAbortThatAHandlerReturnedFromOrThatSwiftsBacktracerDid(_ backtracer: Bool) async throws {
    let victim = try await Victim(.asTested)
    let scene = backtracer ? ["abort"] : ["chain", "abort-of-handled"]
    let alone = try await first(
      victim, scene + ["--no-handler"], in: "alone", backtracer: backtracer)
    let handled = try await first(
      victim, scene + ["--database", victim.database], in: "handled", backtracer: backtracer)
    #expect(handled.end == alone.end)
    #expect(handled.standardError.contains("Program crashed: ") == backtracer)
    #expect(try await victim.process().count == 1)
    let report = try #require(try victim.reports().first)
    let snapshot = try Victim.snapshot(of: report)
    #expect(snapshot.exception?.signal == SIGABRT)
    #expect(snapshot.survival?.outcome == nil)
    #expect(snapshot.survival?.previousHandler != nil)
  }

  /// The kernel discards the first signal, and the null read ends the process.
  @Test(
    arguments: ["sent-then-fault", "segv-then-fault"],
    BuildConfiguration.dynamic)
  func aSentSignalThenAFault(
    _ scene: String, _ configuration: BuildConfiguration
  ) async throws {
    let victim = try await Victim(configuration)
    let alone = try await first(victim, ["chain", scene, "--no-handler"], in: "alone")
    let handled = try await first(
      victim, ["chain", scene, "--database", victim.database], in: "handled")
    #expect(handled.end == alone.end)
    #expect(handled.standardOutput == "went on\n")
    #expect(handled.standardOutput == alone.standardOutput)
    #expect(try await victim.process().count == 2)
    let snapshots = try victim.reports().map(Victim.snapshot(of:)).sorted {
      ($0.process.crashUptime ?? 0) < ($1.process.crashUptime ?? 0)
    }
    #expect(snapshots.map { $0.survival?.outcome } == [.discarded, nil])
    #expect(snapshots.last?.survival?.precedingReport == snapshots.first?.reportID)
    #expect(snapshots.last?.exception?.signal == SIGSEGV)
  }

  /// unshare(1) ends in the same way as the namespace's first process.
  private func first(
    _ victim: Victim, _ arguments: [String], in name: String, backtracer: Bool = false
  ) async throws -> ChildProcess {
    try await ChildProcess.run(
      "/usr/bin/unshare",
      ["--pid", "--fork", "--kill-child", "--mount-proc", victim.executable] + arguments,
      in: try victim.directory(name),
      environment: [
        "SWIFT_BACKTRACE": backtracer ? "enable=yes,color=no" : "enable=no"
      ])
  }
}
