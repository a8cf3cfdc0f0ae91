import CrashTestSupport
import Foundation
import Testing

@testable import PostmortemTool

/// The built `postmortem`, run as a user runs it.
@Suite struct CommandTests {
  private struct Result {
    let status: Int32
    let output: String
    let errors: String
  }

  /// The program that was built with these tests.
  private static var program: URL {
    get throws {
      // Some toolchains load the test bundle in a helper process, so the bundle's path is taken from its mapping.
      let maps = try KernelFile.text("/proc/self/maps")
      let line = try #require(
        maps.split(separator: "\n").first { $0.hasSuffix("PackageTests.xctest") })
      let bundle = try #require(line.firstIndex(of: "/").map { String(line[$0...]) })
      return URL(fileURLWithPath: bundle).deletingLastPathComponent()
        .appendingPathComponent("postmortem")
    }
  }

  private func run(_ words: String...) throws -> Result {
    let process = Process()
    process.executableURL = try Self.program
    process.arguments = words
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent(
      "postmortem-tests-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    // The output goes to files, because pipes would have to be drained.
    let files = try ["out", "err"].map { name in
      let file = directory.appendingPathComponent(name)
      try Data().write(to: file)
      return file
    }
    process.standardOutput = try FileHandle(forWritingTo: files[0])
    process.standardError = try FileHandle(forWritingTo: files[1])
    try process.run()
    process.waitUntilExit()
    try #require(process.terminationReason == .exit)
    return Result(
      status: process.terminationStatus,
      output: try String(contentsOf: files[0], encoding: .utf8),
      errors: try String(contentsOf: files[1], encoding: .utf8))
  }

  @Test func printsHelpAndVersion() throws {
    let help = try run("--help")
    #expect(help.status == 0)
    for name in PostmortemTool.subcommands.map({ $0.name }) {
      #expect(help.output.contains("\n  \(name) "))
      let own = try run(name, "--help")
      #expect(own.status == 0)
      #expect(own.output.contains("Usage: postmortem \(name)"))
      #expect(own.errors.isEmpty)
    }
    #expect(try run("--version").output == "postmortem \(PostmortemTool.version)\n")
  }

  @Test func tellsWrongUsageFromFailure() throws {
    for words in [
      [], ["nonsense"], ["show"], ["list", "a", "b"], ["inspect", "--fast", "x"], ["doctor", "0"],
    ] {
      #expect(PostmortemTool.run(words) == 64)
    }
    let unknown = try run("nonsense\u{1B}[2J")
    #expect(unknown.status == 64)
    #expect(!unknown.errors.contains("\u{1B}"))
    let missing = try run("show", "/nonexistent/\nfile\u{1B}")
    #expect(missing.status == 1)
    #expect(missing.output.isEmpty)
    #expect(missing.errors.contains("/nonexistent/\\nfile\\u{1b}: No such file or directory"))
    #expect(try run("list", "/nonexistent").status == 1)
    #expect(try run("process", "/nonexistent").status == 1)
    #expect(try run("show", "/dev/null").errors.contains("not a regular file"))
    #expect(try run("show", "00112233-4455-4677-8899-aabbccddeeff").status == 64)
  }

  /// Errors contain none of Foundation's texts, and say what would be right.
  @Test func saysWhatIsWrongInTheSystemsWords() throws {
    let dump = try temporaryDump()
    defer { try? FileManager.default.removeItem(atPath: dump) }
    let directory = FileManager.default.temporaryDirectory.path
    let missing = try run("show", dump, "-o", "/nonexistent/report.html")
    #expect(missing.errors == "postmortem: /nonexistent/report.html: No such file or directory\n")
    let taken = try run("show", dump, "-o", directory)
    #expect(taken.errors == "postmortem: \(directory): Is a directory\n")
    #expect(try run("show", dump, "-o", "/dev/stdout").output == run("show", dump).output)
    #expect(try run("list", "/dev/null").errors == "postmortem: /dev/null: Not a directory\n")
    #expect(
      try run("list", "/proc/self/fd").errors.contains(
        "neither dumps nor reports; name the directory that the program passes to startHandler"))
    let since = try run("list", directory, "--since", "whenever").errors
    #expect(since.contains("--since: 'whenever' is neither an age (90m, 12h, 7d, "))
    #expect(!(try run("show", "-x", dump).errors.contains("did you mean")))
    #expect(
      try run("symbolicate", "/dev/null").errors.contains("/dev/null: not a regular file"))
    #expect(
      try run("symbolicate", dump).errors.contains(
        "\(dump): no crash: there is no whole 'postmortem-log-...'"))
  }

  /// A dump that has only its header.
  private func temporaryDump() throws -> String {
    let path = FileManager.default.temporaryDirectory.path + "/\(UUID().uuidString).dump"
    let header = Array("PMDUMP\r\n".utf8) + [1, 0, 1, 8, 32, 0, 0, 0]
    try Data(header + [UInt8](repeating: 0, count: 16)).write(to: URL(fileURLWithPath: path))
    return path
  }

  @Test func guessesWhatWasMeant() throws {
    #expect(try run("lst").errors.contains("did you mean 'list'?"))
    #expect(try run("hsow").errors.contains("did you mean 'show'?"))
    #expect(try run("list", "--jsno").errors.contains("did you mean '--json'?"))
    #expect(!(try run("frobnicate").errors.contains("did you mean")))
    #expect(try run("help", "list").output == run("list", "--help").output)
    #expect(try run("help", "lost").status == 64)
    for words in ["-V", "-v", "version"] {
      #expect(try run(words).output == run("--version").output)
    }
    // Commands of docker, git, journalctl and coredumpctl.
    for (word, meant) in [
      ("ps", "list"), ("logs", "list"), ("view", "show"), ("convert", "process"),
      ("vacuum", "prune"), ("top", "list --group"), ("df", "stats"),
      ("diff", "list --since yesterday"),
    ] {
      #expect(try run(word).errors.contains("did you mean '\(meant)'?"), "\(word)")
    }
    #expect(try run("status", "--help").output == run("doctor", "--help").output)
    #expect(try run("prune", "--vacuum-time", "1w").errors.contains("did you mean '--age'?"))
  }

  @Test func refusesWhatIsNoDump() throws {
    let program = try Self.program.path
    for command in ["show", "inspect"] {
      let result = try run(command, program)
      #expect(result.status == 1)
      #expect(result.errors.contains(program))
      #expect(result.errors.contains("byte 0"))
    }
  }

  @Test func demoShowsARealCrash() throws {
    let result = try run("demo")
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.output.contains("A read of 0x18: a null pointer was dereferenced"))
    #expect(result.output.contains("DemoVictim.readEntry(at:)"))
    #expect(result.output.contains("Thread"))
    // Only the report says how many threads there are, because Dispatch creates some itself.
    #expect(!result.output.prefix { $0 != "2" }.contains(/[0-9]+ threads/))
  }

  @Test func theWholePathInJSON() throws {
    let demo = try run("demo", "--keep")
    #expect(demo.status == 0, "\(demo.errors)")
    let prefix = "The database: "
    let line = try #require(demo.output.split(separator: "\n").last { $0.hasPrefix(prefix) })
    let database = String(line.dropFirst(prefix.count))
    defer { try? FileManager.default.removeItem(atPath: database) }
    let list = try run("list", database, "--json")
    let entries = try JSONDecoder().decode(
      [ReportEntry].self, from: Data(list.output.utf8))
    #expect(entries.count == 1)
    let entry = try #require(entries.first)
    #expect(entry.state == .report)
    #expect(entry.bytes > 1000)
    #expect(try run("list", database).output.hasPrefix("\(entry.reportID)  report   "))
    // `show` prints the same report for the ID and for the file.
    let byID = try run("show", entry.reportID, "--database", database, "--json")
    #expect(byID.output == (try run("show", entry.path, "--json").output))
    // The source lines around the program's own call, with its column marked.
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent()
      .deletingLastPathComponent().path
    let text = try run("show", entry.path, "--source", root).output
    #expect(
      text.split(separator: "\n").dropFirst().first?.hasPrefix(
        "in PostmortemTool.DemoVictim.readEntry") == true)
    let lines = text.split(separator: "\n")
    let mark = try #require(lines.firstIndex { $0.drop { $0 == " " } == "^" }, "\(text)")
    #expect(lines[mark - 1].contains(" |     return unsafe entry.pointee"), "\(lines[mark - 1])")
    #expect(
      try run("show", entry.path, "--source", root, "--html").output.contains("class=\"mark\""))
    #expect(!(try run("show", entry.path).output.contains("      ^")))
    let debug = try run("debug", database, "--symbols", root, "--print").output
    #expect(debug.contains("lldb"), "Swift's toolchain has it")
    #expect(debug.hasSuffix(" -c \(entry.path)\n"))
    #expect(try run("show", entry.path, "--color", "always").output.contains("\u{1B}["))
    #expect(!(try run("show", entry.path, "--color=auto").output.contains("\u{1B}[")))
    #expect(try run("show", entry.path, "--color", "sometimes").status == 64)
    let report = try JSONDecoder().decode(ShownReport.self, from: Data(byID.output.utf8))
    #expect(report.reportID == entry.reportID)
    #expect(report.complete)
    #expect(report.exception.signalName == "SIGSEGV")
    #expect(report.exception.address == "0x18")
    #expect(report.exception.access == "read")
    #expect(report.exception.sender == nil)
    #expect(report.process.product == "Postmortem demo")
    #expect(report.annotations["purpose"] == "to be crashed")
    let crashed = try #require(report.threads.first)
    #expect(crashed.crashed)
    #expect(crashed.id == report.exception.threadID)
    let functions = crashed.frames.compactMap(\.function)
    #expect(functions.first?.contains("readEntry") == true)
    #expect(functions.contains { $0.contains("_dispatch_") }, "\(functions)")
    let idle = report.threads.filter { $0.name?.hasPrefix("idle-") == true }
    #expect(idle.count == 6)
    for thread in idle {
      #expect(thread.frames.contains { $0.function?.contains("waitForWork") == true })
      #expect(thread.stackEnd == "bottom")
    }
    // A second `process` finds nothing to do.
    let again = try run("process", database)
    #expect(again.status == 0)
    #expect(again.output.isEmpty)
  }
}

/// Some keys of the report's JSON.
private struct ShownReport: Decodable {
  struct Exception: Decodable {
    let threadID: UInt32
    let signalName, address, access: String?
    let sender: [String: Int]?
  }
  struct Process: Decodable {
    let product: String?
  }
  struct Thread: Decodable {
    let id: UInt32
    let name: String?
    let crashed: Bool
    let frames: [Frame]
    let stackEnd: String
  }
  struct Frame: Decodable {
    let function: String?
  }

  let reportID: String?
  let complete: Bool
  let exception: Exception
  let process: Process
  let annotations: [String: String]
  let threads: [Thread]
}
