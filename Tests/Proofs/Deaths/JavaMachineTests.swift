import CrashTestSupport
import Foundation
import Glibc
import IntermediateDump
import ProcessSnapshot
import Testing

/// A Java virtual machine in the process, whose handlers are installed and called as Docs/Reference/Handler.md
/// says.
///
/// The class `Play` is in Java/Play.java, the program in Examples/CrashLab/Subcommands/JavaMachine.swift.
@Suite(.needs(.javac))
struct JavaMachineTests {
  /// crash-lab with the compiled class and the machine's library.
  private struct Host {
    let victim: Victim
    private let classes: String
    private let library: String

    init() async throws {
      victim = try await Victim(.asTested)
      classes = try victim.directory("classes")
      let compiler = try #require(OutsideTool.javac.path)
      let source = BuiltProducts.packageRoot + "/Tests/Proofs/Deaths/Java/Play.java"
      let child = try await ChildProcess.run(
        compiler, ["-nowarn", "-d", classes, source], in: classes)
      try #require(child.end.exitCode == 0, "\(child.standardError)")
      let program = URL(fileURLWithPath: compiler).resolvingSymlinksInPath()
      library =
        program.deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "lib/server/libjvm.so").path
    }

    func play(
      _ scene: String, _ order: String, alone: Bool = false, options: String = ""
    ) async throws -> ChildProcess {
      try await ChildProcess.run(
        victim.executable,
        ["java", scene, order, library, classes]
          + (alone ? ["--no-handler"] : ["--database", victim.database]),
        in: classes,
        environment: ["SWIFT_BACKTRACE": "enable=no", "JAVA_TOOL_OPTIONS": options])
    }

    /// True if the machine wrote its own report; removes the report.
    func takesItsReport() -> Bool { unsafe unlink(classes + "/hs_err.log") == 0 }

    func snapshots() async throws -> [ProcessSnapshot] {
      _ = try await victim.process()
      return try victim.reports().map(Victim.snapshot(of:))
    }
  }

  @Test(
    arguments: ProofExtent.isSample ? ["plays"] : ["plays", "plays-on-thread"],
    ProofExtent.isSample ? ["machine-first"] : ["machine-first", "handler-first"])
  func nullPointersAndFullStacksAreJavasExceptionsAndNoCrashes(_ scene: String, _ order: String)
    async throws
  {
    let host = try await Host()
    let alone = try await host.play(scene, order, alone: true)
    let handled = try await host.play(scene, order)
    #expect(alone.standardOutput == "1000 null pointers\n3 stack overflows\n", "\(alone)")
    #expect(handled.standardOutput == alone.standardOutput)
    #expect(handled.end == alone.end && handled.end.exitCode == 0, "\(handled.standardError)")
    let snapshots = try await host.snapshots()
    #expect(snapshots.isEmpty)
    // Compiled code does not check for null: it faults.
    let faults = handled.standardError.matches(of: /(\d+) faults were Java's/).first
    let count = faults.flatMap { Int($0.1) } ?? 0
    #expect(order == "machine-first" ? count >= 1000 : count == 0, "\(handled.standardError)")
  }

  /// The machine aborts, or exits if it must leave no core file.
  @Test(
    arguments: ProofExtent.isSample
      ? ["java-on-thread"] : ["native", "native-on-thread", "java-on-thread"],
    ProofExtent.isSample ? [""] : ["", "-XX:-CreateCoredumpOnCrash"])
  func aCrashIsOneReportAndTheMachinesOwnComesToo(_ scene: String, _ options: String) async throws {
    let host = try await Host()
    let alone = try await host.play(scene, "machine-first", alone: true, options: options)
    #expect(host.takesItsReport())
    let handled = try await host.play(scene, "machine-first", options: options)
    #expect(host.takesItsReport())
    #expect(handled.end == alone.end)
    #expect(options.isEmpty ? alone.end.signal == SIGABRT : alone.end.exitCode == 1)
    let snapshots = try await host.snapshots()
    #expect(snapshots.map { $0.exception?.signal } == [SIGSEGV])
    #expect(snapshots.map { $0.survival?.outcome } == [.endedByHandler])
    #expect(snapshots.allSatisfy { $0.capture.isComplete })
  }

  /// The machine passes signals that are not its own to the handlers that were installed before it.
  @Test func withTheHandlerBeforeTheMachineACrashIsOneReportAndEndsByItsSignal() async throws {
    let host = try await Host()
    let handled = try await host.play("native-on-thread", "handler-first")
    #expect(handled.end.signal == SIGSEGV)
    #expect(!host.takesItsReport())
    let snapshots = try await host.snapshots()
    #expect(snapshots.map { $0.exception?.signal } == [SIGSEGV])
  }
}
