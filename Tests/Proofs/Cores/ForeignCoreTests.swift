import CrashAnalysis
import CrashReport
import CrashTestSupport
import Foundation
import IntermediateDump
import ProcessSnapshot
import Stackwalk
import Testing

/// Core files of programs that do not use this package.
@Suite(.serialized)
struct ForeignCoreTests {
  /// Runs a program until a shell command succeeds, ends it by a signal, and returns its core file.
  ///
  /// A Rust program returns from the first SIGSEGV that is sent to it, and ends by the second one.
  ///
  /// - Parameters:
  ///   - start: a command that starts `$0` in the background, with its output in the file `out`.
  ///   - ready: a command that succeeds once the program does what the test expects.
  private func core(
    of program: String, _ start: String, until ready: String, _ signal: Int32, in place: String
  ) async throws -> String? {
    if let obstacle = CoreFile.obstacle, !OutsideTool.mustBeThere {
      print("\(program): no core file: \(obstacle)")
      return nil
    }
    let child = try await ChildProcess.run(
      "/bin/sh",
      [
        "-c",
        """
        mkfifo commands; exec 3<>commands; : > out
        \(start) <&3 > out 2>&1 & p=$!
        until \(ready); do sleep 0.1; done
        while grep -q '^State:.[^Z]' /proc/$p/status; do kill -\(signal) $p; sleep 0.1; done
        wait $p; exit 0
        """, program,
      ], in: place, coreFile: .allowed)
    #expect(child.end.exitCode == 0)
    return try CoreFile.path(in: place)
  }

  private static func those(_ programs: [String]) -> [String] {
    let present = programs.filter { FileManager.default.isExecutableFile(atPath: $0) }
    for program in programs where !present.contains(program) { print("\(program) is not here") }
    return present
  }

  /// Programs in C, in C++ and in Rust.
  private static let programs = those(["/usr/bin/sleep", "/usr/bin/troff", "/usr/bin/rg"])

  @Test(.needs(.gdb), arguments: programs, [6, 11])
  func programsInOtherLanguages(_ program: String, _ signal: Int32) async throws {
    let directory = try TemporaryDirectory()
    let arguments =
      switch program {
      case "/usr/bin/sleep": "100"
      case "/usr/bin/rg": "text -"
      default: "-"
      }
    // The program sleeps, or waits for input.
    let ready = """
      grep -q '^State:.S' /proc/$p/status && [ "$(readlink /proc/$p/exe)" = "$0" ]
      """
    let place = try directory.subdirectory("run")
    let start = "\"$0\" \(arguments)"
    guard let core = try await core(of: program, start, until: ready, signal, in: place) else {
      return
    }
    let snapshot = try CoreComparison.snapshot(ofCore: core)
    let report = CrashReport(snapshot: snapshot, symbolicating: true)
    #expect(snapshot.exception?.signal == signal && snapshot.exception?.wasSent == true)
    #expect(report.cause?.kind == "sent-signal", "\(String(describing: report.cause))")
    #expect(snapshot.process.executablePath == program && report.message == nil)
    #expect(snapshot.client.isEmpty && snapshot.process.product == nil)
    let gdb = try await GDB.view(
      core: core, of: program, directory: try directory.subdirectory("gdb"))
    var stacks = StackComparison()
    stacks.add(
      try #require(snapshot.crashedThread), of: snapshot,
      Stackwalker(snapshot: snapshot, symbols: SymbolSource()), gdb.frames)
    #expect(stacks.differences.isEmpty, "\(stacks.differences.joined(separator: "\n"))")
  }

  /// A program with a language runtime: how it starts, and the report that each signal makes.
  struct Runtime: Sendable, CustomTestStringConvertible {
    let program: String
    let start: String
    /// The cause and the signal that end the program, by the signal that is sent.
    let ends: [Int32: (signal: Int32, cause: String)]
    /// A function in the stack of the crashed thread.
    let function: String
    var testDescription: String { program }
  }

  private static let runtimes = [
    Runtime(
      program: "/usr/bin/node",
      start: "\"$0\" -e 'console.log(1); setInterval(() => {}, 1000)'",
      ends: [6: (6, "sent-signal"), 11: (11, "sent-signal")], function: "node::Start"),
    // The Java machine handles SIGSEGV, and its handler calls abort().
    Runtime(
      program: "/usr/bin/java",
      start: """
        echo 'class Waits { public static void main(String[] a) throws Exception {
          System.out.println(1); Thread.sleep(1000000); } }' > Waits.java
        "$0" -Xmx64m Waits.java
        """,
      ends: [6: (6, "sent-signal"), 11: (6, "abort")], function: "JLI_Launch"),
  ].filter { !those([$0.program]).isEmpty }

  @Test(
    .needs(.gdb), .enabled("with --full") { CoreReportTests.isFull }, arguments: runtimes, [6, 11])
  func programsWithARuntime(_ runtime: Runtime, _ sent: Int32) async throws {
    let directory = try TemporaryDirectory()
    let place = try directory.subdirectory("run")
    guard
      let core = try await core(
        of: runtime.program, runtime.start, until: "[ -s out ]", sent, in: place)
    else { return }
    let end = try #require(runtime.ends[sent])
    let snapshot = try CoreComparison.snapshot(ofCore: core)
    let report = CrashReport(snapshot: snapshot, symbolicating: true)
    #expect(snapshot.exception?.signal == end.signal && report.cause?.kind == end.cause)
    #expect(report.cause?.certainty == .certain && report.place != nil)
    let names = report.threads.first?.frames.compactMap { $0.symbol?.name } ?? []
    #expect(names.contains { $0.hasPrefix(runtime.function) }, "\(names)")
    let path = try #require(snapshot.process.executablePath)
    let gdb = try await GDB.view(
      core: core, of: path, directory: try directory.subdirectory("gdb"))
    #expect(Set(snapshot.threads.map(\.id)) == Set(gdb.threads))
    #expect(snapshot.exception?.threadID == gdb.crashedThread)
    #expect(snapshot.exception?.signal == gdb.signal)
  }
}
