import CrashTestSupport
import Foundation
import Testing

/// The reason why frames have no names, and the remedy, in all forms of a report and of a log.
@Suite(.needs(.objcopy))
struct MissingNamesTests {
  private let directory: SharedDirectory
  private var program: String { directory.path + "/service" }
  private var database: String { directory.path + "/db" }

  init() throws {
    directory = try SharedDirectory()
  }

  private func run(_ words: [String], log: String? = nil) async throws -> ChildProcess {
    let tool = try BuiltProducts.besideTests("postmortem")
    let command = "exec \"$0\" \"$@\"" + (log.map { " < '\($0)'" } ?? "")
    return try await ChildProcess.run(
      "/bin/sh", ["-c", command, tool] + words, in: directory.path,
      environment: ["POSTMORTEM_NO_SYMBOL_CACHE": "1", "DEBUGINFOD_URLS": ""])
  }

  /// Crashes a program without names, and writes its debug file.
  ///
  /// - Returns: the path of its log.
  private func crash(_ options: [String]) async throws -> String {
    let whole = try BuiltProducts.besideTests("crash-lab")
    for words in [["--only-keep-debug", whole, program + ".debug"], options + [whole, program]] {
      let child = try await ChildProcess.run(
        try #require(OutsideTool.objcopy.path), words, in: directory.path)
      try #require(child.end.exitCode == 0, "\(child.standardError)")
    }
    let child = try await ChildProcess.run(
      program, ["null-read", "--database", database], in: directory.path,
      environment: ["SWIFT_BACKTRACE": "enable=no"])
    try child.standardError.write(
      toFile: directory.path + "/log", atomically: false, encoding: .utf8)
    let processed = try await run(["process", database])
    try #require(processed.end.exitCode == 0, "\(processed.standardError)")
    return directory.path + "/log"
  }

  private func forms(_ log: String, _ options: [String] = []) async throws -> [String] {
    [
      try await run(["show", database] + options).standardOutput,
      try await run(["show", database, "--html"] + options).standardOutput,
      try await run(["show", database, "--json"] + options).standardOutput,
      try await run(["symbolicate"] + options, log: log).standardOutput,
      try await run(["symbolicate", "--json"] + options, log: log).standardOutput,
    ].map { form in
      // The text form wraps lines.
      form.replacing(/\s+/, with: " ")
    }
  }

  @Test func aStrippedProgramSaysSo() async throws {
    let log = try await crash(["--strip-all"])
    for form in try await forms(log) {
      #expect(!form.contains("crash_null_read"))
      #expect(
        form.contains("/service is stripped: it has neither a symbol table nor debug"), "\(form)")
      #expect(form.contains("give --symbols DIR with service of this build, not stripped, or"))
      #expect(form.contains("or its debug file, under any name (build ID "))
      #expect(form.contains("DEBUGINFOD_URLS"))
    }
    for form in try await forms(log, ["--symbols", directory.path]) {
      #expect(form.contains("crash_null_read"), "\(form)")
      #expect(!form.contains("is stripped") && !form.contains("DEBUGINFOD_URLS"), "\(form)")
    }
  }

  @Test func anotherBuildAndNoFileAreTold() async throws {
    let log = try await crash(["--strip-all"])
    try FileManager.default.removeItem(atPath: program)
    for form in try await forms(log) {
      #expect(form.contains("/service cannot be opened: No such file or directory"), "\(form)")
      #expect(form.contains("give --symbols DIR with service of this build"))
    }
    try FileManager.default.copyItem(
      atPath: try BuiltProducts.besideTests("postmortem"), toPath: program)
    for form in try await forms(log) {
      #expect(form.contains("/service is not the same build as in the dump"), "\(form)")
    }
  }

  @Test func aDebugFileThatIsGoneIsTold() async throws {
    let log = try await crash(["--strip-all"])
    // The link names the debug file that was next to the program when the link was made.
    let child = try await ChildProcess.run(
      try #require(OutsideTool.objcopy.path),
      ["--add-gnu-debuglink=\(program).debug", program], in: directory.path)
    try #require(child.end.exitCode == 0, "\(child.standardError)")
    #expect(try await run(["symbolicate"], log: log).standardOutput.contains("crash_null_read"))
    try FileManager.default.removeItem(atPath: program + ".debug")
    for form in try await forms(log) {
      #expect(form.contains("and its debug file service.debug was not found"), "\(form)")
    }
  }
}
