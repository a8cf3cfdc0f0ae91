import CrashTestSupport
import Foundation
import IntermediateDump
import ProcessSnapshot
import Stackwalk
import Testing

@testable import CrashHandler

/// The lines of a summary, and deep stacks.
@Suite struct SummaryContentTests {
  /// Of 200 calls, the log has the last ones and, after a gap, the callers of the first call.
  @Test(arguments: [1, 2]) func aDeepStackHasItsInnermostAndItsOutermostFrames(
    _ period: Int
  ) async throws {
    let directory = try TemporaryDirectory()
    let database = directory.database
    let result = await #expect(
      processExitsWith: .signal(SIGSEGV), observing: [\.standardErrorContent]
    ) { [database = database as String, period = period as Int] in
      try startWithoutBacktracer(database)
      _ = period == 1 ? writeDeep(200) : writeInTurn(200)
    }
    let dump = try #require(try loggedDumps(of: result).first)
    let snapshot = ProcessSnapshot(reading: try IntermediateDumpDocument(parsing: dump.bytes))
    let thread = try #require(snapshot.crashedThread)
    let frames = Stackwalker(snapshot: snapshot, symbols: SymbolSource()).frames(
      of: thread, limit: 400
    )
    .filter { !$0.isInlined }
    let name = period == 1 ? "writeDeep" : "write"
    let gap = try #require(frames.firstIndex { $0.trust == .afterGap })
    func isCall(_ frame: StackFrame) -> Bool {
      frame.symbol?.linkageName.contains(name) == true
    }
    #expect(frames[..<gap].filter(isCall).count > 60)
    #expect(frames[gap...].count > 5 && frames.last.map(isCall) == false)
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
    let expected = [#"with request-id = 8C2E\n= \x1b[31m, user = 42"#]
    #expect(lines.dropFirst().dropLast() == (isPrivate ? [] : expected[...]), "\(lines)")
    let shown = try await symbolicated(result, in: directory)
    #expect(
      shown.contains("\nrequest-id = 8C2E\\n= \\u{1b}[31m\nuser = 42\n") == !isPrivate, "\(shown)")
    #expect(shown.contains("request-id") == !isPrivate)
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
    #expect(lines.dropFirst().dropLast() == (isNoted ? ["after SIGTERM"] : []))
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
        of:
          /at .*; report: postmortem (show --database .*); from this log: postmortem symbolicate LOG/
      ),
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
    #expect(last.contains("; report: postmortem show ") && !last.contains("--database"))
  }
}
