import CrashTestSupport
import Foundation
import Testing

/// The command is killed at each system call with which it writes output, or the call fails: a file that `-o` names is
/// the old or the new one, and output that is lost is reported.
@Suite(.needs(.strace))
struct ReplacedFileTests {
  private static let calls = ["fchown", "fchmod", "write", "linkat", "rename"]
  private let directory: SharedDirectory
  private let tool: String

  init() async throws {
    directory = try SharedDirectory()
    tool = try BuiltProducts.besideTests("postmortem")
    let header = Array("PMDUMP\r\n".utf8) + [1, 0, 1, 8, 32, 0, 0, 0]
    try directory.put(header + [UInt8](repeating: 0, count: 16), "dump")
    try FileManager.default.createDirectory(
      atPath: directory.path + "/out", withIntermediateDirectories: false)
  }

  /// Runs `show -o out/file`, and does something to one call of the process: the first one of this name, the second
  /// one, and so on.
  ///
  /// - Parameter isThere: true if there is an old file.
  /// - Returns: the processes until one whose call was never made.
  private func forEach(
    _ call: String, _ injection: String, isThere: Bool,
    _ check: (_ run: ChildProcess, _ number: Int) throws -> Void
  ) async throws -> Int {
    let strace = try #require(OutsideTool.strace.path)
    for number in 1..<100 {
      for name in directory.names("out") { unsafe unlink(directory.path + "/out/" + name) }
      if isThere { try directory.put(Array("old".utf8), "out/file") }
      let run = try await ChildProcess.run(
        strace,
        [
          "-f", "-qq", "-o", "trace", "-e", "signal=none", "-e", "trace=\(call)", "-e",
          "inject=\(call):\(injection):when=\(number)", tool, "show", "./dump", "--no-cache",
          "--html", "-o", "out/file",
        ], in: directory.path)
      let trace = String(decoding: directory.bytes("trace") ?? [], as: UTF8.self)
      guard trace.contains("(INJECTED)") || run.end.signal == SIGKILL else { return number - 1 }
      try check(run, number)
    }
    return 100
  }

  private var file: String? {
    directory.bytes("out/file").map { String(decoding: $0, as: UTF8.self) }
  }

  @Test(arguments: [true, false])
  func aKilledCommandLeavesTheOldFileOrTheNewOne(_ isThere: Bool) async throws {
    let page = try await ChildProcess.run(
      tool, ["show", "./dump", "--html"], in: directory.path
    ).standardOutput
    for call in Self.calls {
      let count = try await forEach(call, "signal=KILL", isThere: isThere) { run, number in
        let old = isThere ? "old" : nil
        #expect(file == old || file == page, "\(call) \(number)")
        // Between these two calls, the new file has a name that is not yet its own.
        let others = directory.names("out").filter { $0 != "file" }
        #expect(
          others.isEmpty || ["linkat", "rename"].contains(call), "\(call) \(number): \(others)")
        for name in others { #expect(directory.bytes("out/" + name) == Array(page.utf8)) }
      }
      #expect(count > 0 || (call.hasPrefix("fch") && !isThere), "\(call)")
    }
  }

  @Test(arguments: [true, false])
  func aFailedCallIsReportedAndLeavesTheOldFile(_ isThere: Bool) async throws {
    let page = try await ChildProcess.run(
      tool, ["show", "./dump", "--html"], in: directory.path
    ).standardOutput
    for call in Self.calls {
      _ = try await forEach(call, "error=EIO", isThere: isThere) { run, number in
        // Another owner is no reason to refuse; the second write is that of the message.
        if call.hasPrefix("fch") {
          #expect(run.end.exitCode == 0 && file == page, "\(call): \(run)")
        } else {
          #expect(run.end.exitCode == 1 && file == (isThere ? "old" : nil), "\(call): \(run)")
          #expect(run.standardError == "postmortem: out/file: Input/output error\n", "\(run)")
        }
        #expect(directory.names("out").allSatisfy { $0 == "file" }, "\(call) \(number)")
      }
    }
  }

  /// As on NFS, which writes when the file is closed.
  @Test func aFailureThatOnlyCloseReportsIsReported() async throws {
    let strace = try #require(OutsideTool.strace.path)
    for words in [["--version"], ["show", "./dump"], ["show", "./dump", "--json"]] {
      let run = try await ChildProcess.run(
        "/bin/sh",
        [
          "-c",
          """
          exec "$0" -f -qq -o /dev/null -P "$PWD/out/file" -e inject=close:error=ENOSPC "$@" >out/file
          """, strace, tool,
        ] + words, in: directory.path)
      let message = "standard output: No space left on device"
      #expect(run.end.exitCode == 1 && run.standardError.contains(message), "\(words): \(run)")
    }
  }
}
