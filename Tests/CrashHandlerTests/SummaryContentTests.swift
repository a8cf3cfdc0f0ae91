import CrashTestSupport
import Foundation
import IntermediateDump
import Testing

@testable import CrashHandler

/// The parts of a summary other than the stack, and folded recursions.
@Suite struct SummaryContentTests {
  /// Of 200 calls, the summary lists the first few, then the number of the others, then the callers of the first
  /// call.
  @Test(arguments: [1, 2]) func aRecursionIsFolded(_ period: Int) async throws {
    let directory = try TemporaryDirectory()
    let database = directory.database
    let result = await #expect(
      processExitsWith: .signal(SIGSEGV), observing: [\.standardErrorContent]
    ) { [database = database as String, period = period as Int] in
      try startWithoutBacktracer(database)
      _ = period == 1 ? writeDeep(200) : writeInTurn(200)
    }
    let lines = try summaryLines(of: result)
    let position = try #require(lines.firstIndex { $0.hasPrefix("repeats ") }, "\(lines)")
    let words = lines[position].split(separator: " ")
    let count = try #require(words.count == 3 ? Int(words[1]) : nil)
    #expect(words[2] == "\(period)" && (180...195).contains(count), "\(lines)")
    let before = lines[..<position].filter { $0.hasPrefix("frame ") }
    let after = lines[position...].filter { $0.hasPrefix("frame ") }
    #expect((9...16).contains(before.count), "\(lines)")
    // The frame numbers count the folded frames, too.
    #expect(after.first?.hasPrefix("frame \(before.count + count) ") == true, "\(lines)")
    #expect(after.count > 3)
    let log = directory.path + "/log"
    try Data(try #require(result?.standardErrorContent)).write(to: URL(filePath: log))
    let shown = try await ChildProcess.run(
      try BuiltProducts.besideTests("postmortem"), ["symbolicate", log], in: directory.path)
    let folded = shown.standardOutput.split(separator: "\n").filter { $0.contains(" more of ") }
    #expect(folded.count == 1, "\(shown)")
    #expect(folded.first?.contains(period == 1 ? "writeDeep(_:)" : "in turn") == true, "\(shown)")
  }

  /// In a container without a volume, the summary is all that is left of a crash.
  @Test(arguments: [false, true]) func saysWhatCrashedWorkedOn(_ isPrivate: Bool) async throws {
    let directory = try TemporaryDirectory()
    let database = directory.database
    let result = await #expect(
      processExitsWith: .signal(SIGSEGV), observing: [\.standardErrorContent]
    ) { [database = database as String, isPrivate = isPrivate as Bool] in
      restoreDefaults()
      var options = HandlerOptions()
      if isPrivate { options.privacy = .sanitized }
      try startHandler(database: database, options: options)
      withContext("request-id", "8C2E\n= \u{1B}[31m") {
        withContext("user", "42") { writeToNowhere() }
      }
    }
    let lines = try summaryLines(of: result)
    let contexts = lines.filter { $0.hasPrefix("context ") }
    #expect(
      contexts
        == (isPrivate ? [] : [#"context request-id = 8C2E\n= \x1b[31m"#, "context user = 42"]),
      "\(lines)")
    guard !isPrivate else { return }
    let log = directory.path + "/log"
    try Data(try #require(result?.standardErrorContent)).write(to: URL(filePath: log))
    let shown = try await ChildProcess.run(
      try BuiltProducts.besideTests("postmortem"), ["symbolicate", log], in: directory.path)
    #expect(
      shown.standardOutput.contains("\nrequest-id = 8C2E\\n= \\u{1b}[31m\nuser = 42\n"), "\(shown)")
  }

  /// For a crash during a shutdown, the report must show that the process was about to end.
  @Test(arguments: [false, true]) func saysThatTheProcessWasToEnd(_ isNoted: Bool) async throws {
    let directory = try TemporaryDirectory()
    let database = directory.database
    let result = await #expect(
      processExitsWith: .signal(SIGSEGV), observing: [\.standardErrorContent]
    ) { [database = database as String, isNoted = isNoted as Bool] in
      try startWithoutBacktracer(database)
      if isNoted { noteTermination(signal: SIGTERM) }
      writeToNowhere()
    }
    let lines = try summaryLines(of: result)
    #expect(
      lines.filter { $0.hasPrefix("termination ") } == (isNoted ? ["termination 15 SIGTERM"] : []))
  }

  /// The last line is a command, which prints the report once the dump is converted.
  @Test func theLastLineReadsTheReport() async throws {
    let directory = try TemporaryDirectory()
    let database = directory.database
    let result = await #expect(
      processExitsWith: .signal(SIGSEGV), observing: [\.standardErrorContent]
    ) { [database = database as String] in
      try startWithoutBacktracer(database)
      writeToNowhere()
    }
    let last = try #require(try summaryLines(of: result).last)
    let command = try #require(
      last.wholeMatch(
        of: /to read this report: postmortem (show --database .*); from this log alone: .*/),
      "\(last)")
    let tool = try BuiltProducts.besideTests("postmortem")
    _ = try await ChildProcess.run(tool, ["process", database], in: directory.path)
    let words = command.1.split(separator: " ").map(String.init)
    let shown = try await ChildProcess.run(tool, words, in: directory.path)
    #expect(shown.end.exitCode == 0 && shown.standardOutput.contains("SIGSEGV"), "\(shown)")
  }

  @Test func aPathThatAShellWouldSplitIsLeftOut() async throws {
    let directory = try TemporaryDirectory()
    let database = directory.path + "/a b"
    let result = await #expect(
      processExitsWith: .signal(SIGSEGV), observing: [\.standardErrorContent]
    ) { [database = database as String] in
      try startWithoutBacktracer(database)
      writeToNowhere()
    }
    let last = try #require(try summaryLines(of: result).last)
    #expect(last.hasPrefix("to read this report: postmortem show ") && !last.contains("--database"))
  }
}
