import CrashAnalysis
import CrashReport
import CrashTestSupport
import Foundation
import IntermediateDump
import Testing

@testable import PostmortemTool

/// `show` and `list --group` for reports of real crashes.
@Suite struct ReportOutputTests {
  /// Three crashes of crash-lab, two of them the same.
  private static func database(in directory: borrowing CrashTestSupport.TemporaryDirectory)
    async throws
    -> String
  {
    let database = directory.path + "/database"
    let victim = try BuiltProducts.besideTests("crash-lab")
    for (kind, place) in [("null-read", "pthread"), ("null-read", "pthread"), ("abort", "main")] {
      _ = try await ChildProcess.run(
        victim, [kind, "--database", database, "--on", place], in: directory.path,
        environment: ["SWIFT_BACKTRACE": "enable=no"])
    }
    let processed = try await run("process '\(database)'", in: directory)
    try #require(processed.end.exitCode == 0, "\(processed.standardError)")
    return database
  }

  /// Runs a shell command line: the tool's path, followed by the given words.
  private static func run(
    _ line: String, in directory: borrowing CrashTestSupport.TemporaryDirectory,
    environment: [String: String] = [:]
  ) async throws -> ChildProcess {
    let tool = try BuiltProducts.besideTests("postmortem")
    return try await ChildProcess.run(
      "/bin/sh", ["-c", line.contains("$0") ? line : "$0 " + line, tool], in: directory.path,
      environment: environment)
  }

  /// All checks are in one test, because the crashes and their conversion take longer than everything else.
  @Test(.needs(.python3)) func realReports() async throws {
    let directory = try CrashTestSupport.TemporaryDirectory()
    let database = try await Self.database(in: directory)
    let groups = try await groups(database, directory)
    try await everyWayOfOutput(groups[0].reportIDs[0], database, directory)
  }

  private func everyWayOfOutput(
    _ id: String, _ database: String, _ directory: borrowing CrashTestSupport.TemporaryDirectory
  ) async throws {
    let list = try await Self.run("list '\(database)' --json", in: directory)
    let entries = try JSONDecoder().decode(
      [ReportEntry].self, from: Data(list.standardOutput.utf8))
    try #require(entries.count == 3)
    let entry = try #require(entries.first { $0.reportID == id })
    let dump = "'\(entry.path)' --no-symbols"

    // A file, an ID, and standard input, as a pipe or a file, give the same report, which conforms to the schema.
    let json = try await Self.run("show \(dump) --json", in: directory).standardOutput
    let schema = try JSONSchema(
      path: BuiltProducts.packageRoot + "/Docs/Reference/ReportSchema.json")
    #expect(try schema.errors(in: json) == [])
    for line in [
      "show - --no-symbols --json < '\(entry.path)'",
      "cat '\(entry.path)' | $0 show - --no-symbols --json",
      "show \(entry.reportID) --database '\(database)' --no-symbols --json",
      "show \(dump) --json -o out && cat out",
    ] {
      #expect(try await Self.run(line, in: directory).standardOutput == json, "\(line)")
    }
    let nowhere = try await Self.run("show \(dump) -o /nonexistent/x", in: directory)
    #expect(nowhere.end.exitCode == 1)
    #expect(nowhere.standardError.contains("/nonexistent/x"))

    let html = try await Self.run("show \(dump) --html", in: directory).standardOutput
    #expect(html.hasPrefix("<!DOCTYPE html>") && html.hasSuffix("</html>\n"))
    #expect(html.contains("SIGSEGV (11), SEGV_MAPERR"))

    // Colors are used on a terminal only, and not if they are turned off.
    let text = try await Self.run("show \(dump) --text", in: directory).standardOutput
    #expect(!text.contains("\u{1B}"))
    #expect(try await Self.run("show \(dump)", in: directory).standardOutput == text)
    let terminal = "python3 -c 'import pty, sys; pty.spawn(sys.argv[1:])' sh -c "
    for (environment, hasColor) in [
      // An empty value counts as unset, and replaces a value in the test's own environment.
      (["TERM": "xterm", "NO_COLOR": ""], true), (["TERM": "xterm", "NO_COLOR": "1"], false),
      (["TERM": "dumb", "NO_COLOR": ""], false),
    ] {
      let shown = try await Self.run(
        terminal + "\"stty cols 60; $0 show \(dump)\"", in: directory,
        environment: environment.merging(["PAGER": "sed s/SIGSEGV/paged-SIGSEGV/"]) { $1 })
      // A terminal that cannot move its cursor has no pager.
      let isPaged = environment["TERM"] != "dumb"
      #expect(shown.standardOutput.contains("paged-SIGSEGV") == isPaged, "\(environment)")
      #expect(shown.standardOutput.contains("\u{1B}[") == hasColor, "\(environment)")
    }
  }

  private func groups(
    _ database: String, _ directory: borrowing CrashTestSupport.TemporaryDirectory
  ) async throws -> [ReportGroup] {
    let listed = try await Self.run("list '\(database)' --group --json", in: directory)
    let groups = try JSONDecoder().decode(
      [ReportGroup].self, from: Data(listed.standardOutput.utf8))
    try #require(groups.map(\.count) == [2, 1], "\(listed.standardOutput)")
    #expect(groups[0].signature?.hasPrefix("SIGSEGV | CrashLab.crash_null_read() | ") == true)
    #expect(groups[1].signature?.hasPrefix("SIGABRT | CrashLab.crash_abort() | ") == true)
    #expect(groups.map(\.versions) == [["1.0"], ["1.0"]])
    #expect(groups[0].first.nanoseconds < groups[0].last.nanoseconds)
    #expect(Set(groups.flatMap(\.reportIDs)).count == 3)
    let text = try await Self.run("list '\(database)' --group", in: directory).standardOutput
    #expect(text.hasPrefix("    2  CrashLab: SIGSEGV | "))
    // The report's signature is that of its group.
    let id = groups[1].reportIDs[0]
    let shown = try await Self.run("show \(id) --database '\(database)'", in: directory)
    #expect(shown.standardOutput.contains("Signature  " + (groups[1].signature ?? "none")))
    // An unreadable report is left out of the list, and named.
    let damaged = database + "/pending/\(id).dmp"
    try Data("MDMP".utf8).write(to: URL(fileURLWithPath: damaged))
    let rest = try await Self.run("list '\(database)' --group", in: directory)
    #expect(rest.end.exitCode == 1)
    #expect(rest.standardError.contains(id) && rest.standardOutput.contains("    2  CrashLab: "))
    return groups
  }

  @Test func refusesWhatMakesNoSense() async throws {
    let directory = try CrashTestSupport.TemporaryDirectory()
    try FileManager.default.createDirectory(
      atPath: directory.path + "/pending", withIntermediateDirectories: true)
    for words in [
      ["show", "x", "--json", "--html"], ["show", "x", "--html", "--text"], ["show", "x", "-o"],
      ["list", directory.path, "--symbols", "x"],
    ] {
      #expect(PostmortemTool.run(words) == 64, "\(words)")
    }
    let empty = try await Self.run("show - < /dev/null", in: directory)
    #expect(empty.end.exitCode == 1)
    #expect(empty.standardError.contains("standard input: neither"))
    let endless = try await Self.run("yes MDMP | head -c 100000 | $0 show -", in: directory)
    #expect(endless.end.exitCode == 1)
  }
}
