import CrashAnalysis
import CrashReport
import CrashTestSupport
import Foundation
import IntermediateDump
import ProcessSnapshot
import Stackwalk
import Testing

/// Core files that gdb writes from a process that it has stopped.
@Suite struct DebuggerCoreTests {
  #if arch(arm64)
    private static let trap = "brk #1"
  #else
    private static let trap = "int3"
  #endif
  private static let source = """
    #include <stdio.h>
    int work(int x) {
      x = x * 3;
      return x;
    }
    int main(int argc, char **argv) {
      if (argc > 1) __asm__ volatile("\(trap)");
      printf("%d", work(argc));
      return 0;
    }
    """

  /// Compiles a program, and makes gdb write a core file of it.
  private func core(_ commands: [String], in place: String) async throws -> ProcessSnapshot {
    try Self.source.write(toFile: place + "/stopped.c", atomically: false, encoding: .utf8)
    let child = try await ChildProcess.run(
      "/bin/sh",
      [
        "-c", "clang -g -fno-inline -o stopped stopped.c && exec \"$@\"", "sh",
        try #require(OutsideTool.gdb.path), "-nx", "-batch",
      ] + (commands + ["generate-core-file core"]).flatMap { ["-ex", $0] } + ["./stopped"],
      in: place, environment: ["DEBUGINFOD_URLS": ""])
    guard FileManager.default.fileExists(atPath: place + "/core") else {
      throw OutsideToolError(
        "gdb wrote no core file: \(child.standardOutput)\(child.standardError)")
    }
    return try CoreComparison.snapshot(ofCore: place + "/core")
  }

  @Test(.needs(.gdb), arguments: [["break work", "run"], ["break work", "run", "step"]])
  func atABreakpointNothingCrashed(_ commands: [String]) async throws {
    let directory = try TemporaryDirectory()
    let snapshot = try await core(commands, in: directory.path)
    #expect(snapshot.request?.kind == .coreFile && snapshot.exception?.signal == nil)
    let report = CrashReport(snapshot: snapshot, symbolicating: true)
    #expect(report.cause == nil)
    #expect(
      TextReport.text(of: report).contains(
        "Core file of a stopped process, which no signal had ended."))
    #expect(report.threads.first?.frames.first?.symbol?.name == "work")
  }

  @Test(.needs(.gdb)) func theProgramsOwnTrapIsACrash() async throws {
    let directory = try TemporaryDirectory()
    let snapshot = try await core(["run x"], in: directory.path)
    #expect(snapshot.request == nil && snapshot.exception?.signal == 5)
  }
}
