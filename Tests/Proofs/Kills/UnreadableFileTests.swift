import CrashTestSupport
import Foundation
import IntermediateDump
import Testing

/// A disk fails to read one report's file: `list`, `prune` and `upload` name the report and continue.
@Suite(.needs(.strace))
struct UnreadableFileTests {
  /// The calls that fail with EIO, and the ending of the file's name.
  private static let refusals = [
    ("newfstatat", "dmp"), ("openat", "dmp"), ("openat", "meta"), ("read,pread64", "dmp"),
  ]

  @Test(arguments: refusals)
  func eioOfOneFile(_ call: String, _ ending: String) async throws {
    let dumps = try PendingDatabase()
    let ids = try (0..<4).map { try dumps.putDump(age: Double($0)) }
    let tool = try BuiltProducts.besideTests("postmortem")
    func run(_ words: [String], failing: Bool) async throws -> ChildProcess {
      let name = "\(ids[1]).\(ending)"
      let command = [tool] + words
      // strace selects calls with a path by the name that the program passes, and calls with a descriptor by the
      // file's full path.
      let options = [
        "-f", "-qq", "-o", "/dev/null", "-e", "signal=none", "-e", "trace=%file,%desc", "-P", name,
        "-P", "\(dumps.path)/pending/\(name)", "-e", "inject=\(call):error=EIO", "--",
      ]
      let strace = try #require(OutsideTool.strace.path)
      return try await ChildProcess.run(
        failing ? strace : tool, failing ? options + command : words, in: dumps.path)
    }
    func expect(_ run: ChildProcess) {
      #expect(run.end.exitCode == 2, "\(run)")
      #expect(run.standardError.contains("\(ids[1]).\(ending)"), "\(run)")
    }
    #expect(try await run(["process", "-d", dumps.path], failing: false).end.exitCode == 0)
    try? FileManager.default.removeItem(atPath: dumps.path + "/reports.index")
    let list = try await run(["list", "-d", dumps.path], failing: true)
    expect(list)
    for id in ids where id != ids[1] { #expect(list.standardOutput.contains("\(id)"), "\(list)") }

    #expect(
      try await run(["upload", "-d", dumps.path, "--enable"], failing: false).end.exitCode == 0)
    let receiver = try UploadReceiver()
    let upload = try await run(["upload", "-d", dumps.path, "--url", receiver.url], failing: true)
    expect(upload)
    #expect(receiver.forms.count == 3)

    // prune removes files that it cannot read.
    let prune = try await run(["prune", "-d", dumps.path, "--size", "0"], failing: true)
    if call == "newfstatat" || ending == "meta" { expect(prune) }
    #expect(dumps.directory.names("completed").count { $0.hasSuffix(".dmp") } <= 1, "\(prune)")
  }
}
