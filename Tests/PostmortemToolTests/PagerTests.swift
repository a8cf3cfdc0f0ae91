import CrashTestSupport
import Foundation
import Testing

@testable import PostmortemTool

/// `postmortem show` in an interactive shell on a terminal of 24 lines, with real pagers.
@Suite(.needs(.bash), .needs(.less), .needs(.more)) struct PagerTests {
  private let directory: SharedDirectory
  private let tool: String

  init() async throws {
    directory = try SharedDirectory()
    tool = try BuiltProducts.besideTests("postmortem")
    let child = try await ChildProcess.run(
      try BuiltProducts.besideTests("HandlerOnlyVictim"), [directory.path + "/db", "abort"],
      in: directory.path, environment: ["SWIFT_BACKTRACE": "enable=no"])
    try #require(child.end.signal == SIGABRT)
    let converted = try await ChildProcess.run(tool, ["process", "./db"], in: directory.path)
    try #require(converted.end.exitCode == 0)
  }

  private func session(
    _ variables: [String: String] = [:], rows: UInt16 = 24
  ) async throws -> ShellSession {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    let environment = [
      "PATH": path, "HOME": directory.path, "TERM": "xterm", "LC_ALL": "C.UTF-8", "NO_COLOR": "1",
      "POSTMORTEM_DATABASE": directory.path + "/db", "DEBUGINFOD_URLS": "",
    ]
    return try await ShellSession(
      in: directory.path, environment: environment.merging(variables) { $1 }, rows: rows)
  }

  /// The lines of a text without terminal sequences, and without the spaces that end a line.
  private func lines(_ text: String) -> [String] {
    let sequence = /\u{1B}(\[[0-9;?]*[A-Za-z]|[=>])/
    return text.replacing(sequence, with: "").replacing("\r\n", with: "\n")
      .split(separator: "\n", omittingEmptySubsequences: false)
      .map { line in
        let visible = line.split(separator: "\r", omittingEmptySubsequences: true).last ?? ""
        return String(visible.reversed().drop { $0 == " " }.reversed())
      }
  }

  /// The lines that the command prints on this terminal without a pager.
  private func reference(_ session: ShellSession) async throws -> [String] {
    let lines = lines(try await session.run("'\(tool)' show --no-pager"))
    // The tests page through it.
    try #require(lines.count > 60, "\(lines)")
    return lines
  }

  /// Begins to show the report, and waits until the first page ends with a prompt of the pager.
  private func begin(_ session: ShellSession, prompt: String) async throws -> String {
    session.type("'\(tool)' show\r")
    return try await session.wait(for: prompt)
  }

  @Test func lessShowsTheReportPageByPage() async throws {
    let session = try await session()
    let all = try await reference(session)
    let first = lines(try await begin(session, prompt: "\n:"))
    #expect(Array(first.suffix(24).prefix(23)) == Array(all.prefix(23)))
    session.type(" ")
    let second = lines(try await session.wait(for: "\n:"))
    #expect(Array(second.suffix(24).prefix(23)) == Array(all[23..<46]))
    session.type("G")
    let last = lines(try await session.wait(for: "(END)"))
    #expect(last.contains(all[all.count - 2]))
    session.type("q")
    _ = try await session.waitForPrompt(status: 0)
    // In the middle of the report, too.
    _ = try await begin(session, prompt: "\n:")
    session.type("q")
    _ = try await session.waitForPrompt(status: 0)
    #expect(try await session.run("stty").contains("-echo") == false)
  }

  @Test func moreShowsTheReportPageByPage() async throws {
    let session = try await session(["PAGER": "more"])
    let all = try await reference(session)
    let first = lines(try await begin(session, prompt: "--More--"))
    #expect(first.contains(all[0]) && first.contains(all[22]) && !first.contains(all[30]))
    session.type(" ")
    let second = lines(try await session.wait(for: "--More--"))
    #expect(second.contains(all[30]) && !second.contains(all[60]))
    session.type("q")
    _ = try await session.waitForPrompt(status: 0)
    _ = try await begin(session, prompt: "--More--")
    session.type("\u{1A}")
    _ = try await session.waitForPrompt(status: 148)
    session.type("fg\r")
    _ = try await session.wait(for: "show\r\n")
    session.type(" ")
    #expect(lines(try await session.wait(for: "--More--")).contains(all[30]))
    // more ends at Ctrl-C, and so does the command.
    session.type("\u{3}")
    _ = try await session.waitForPrompt(status: 0)
    #expect(try await session.run("stty").contains("-echo") == false)
  }

  /// The terminal sends the signal to the command, too; the pager alone acts on it.
  @Test func controlCIsTheMatterOfThePager() async throws {
    let session = try await session()
    let all = try await reference(session)
    _ = try await begin(session, prompt: "\n:")
    let command = session.foreground
    session.type("\u{3}")
    session.type(" ")
    _ = try await session.wait(for: all[45])
    #expect(session.foreground == command)
    session.type("q")
    _ = try await session.waitForPrompt(status: 0)
    // A pager that the signal kills ends the command in the same way.
    session.type("PAGER='echo ready; exec sleep 600' '\(tool)' show\r")
    _ = try await session.wait(for: "\r\nready\r\n")
    session.type("\u{3}")
    _ = try await session.waitForPrompt(status: 130)
  }

  @Test func controlZStopsBothAndFgContinuesBoth() async throws {
    let session = try await session()
    let all = try await reference(session)
    _ = try await begin(session, prompt: "\n:")
    session.type("\u{1A}")
    let stopped = try await session.waitForPrompt(status: 148)
    #expect(stopped.contains("Stopped"))
    #expect(try await session.run("jobs -l").contains("Stopped"))
    session.type("fg\r")
    _ = try await session.wait(for: "\n:")
    session.type(" ")
    _ = try await session.wait(for: all[45])
    session.type("q")
    _ = try await session.waitForPrompt(status: 0)
    #expect(try await session.run("jobs") == "")
    // A job in the background stops when its pager wants the terminal, and continues in the foreground.
    _ = try await session.run("'\(tool)' show & wait -f %1 2>/dev/null; echo", status: 0)
    session.type("fg\r")
    _ = try await session.wait(for: "\n:")
    session.type("q")
    _ = try await session.waitForPrompt(status: 0)
  }

  @Test func thePagerFollowsTheSizeOfTheTerminal() async throws {
    let session = try await session()
    let all = try await reference(session)
    _ = try await begin(session, prompt: "\n:")
    session.resize(rows: 11, columns: 80)
    // less draws the page again.
    _ = try await session.wait(for: "\n:")
    session.type("g")
    _ = try await session.wait(for: all[0])
    let page = lines(try await session.wait(for: "\n:"))
    #expect(page.contains(all[9]) && !page.contains(all[11]), "\(page)")
    session.type("q")
    _ = try await session.waitForPrompt(status: 0)
  }

  @Test func aTextThatFitsIsPrintedAndLessEnds() async throws {
    let session = try await session(rows: 200)
    let all = try await reference(session)
    let shown = lines(try await session.run("'\(tool)' show"))
    #expect(shown == all)
  }

  @Test(arguments: [
    "PAGER=/nonexistent/pager", "PAGER=/etc/passwd", "PAGER=", "PAGER='cat'", "TERM=dumb",
    "env -u TERM", "PATH=.",
  ])
  func withoutAPagerTheWholeReportIsPrinted(_ setting: String) async throws {
    let session = try await session()
    let all = try await reference(session)
    let shown = lines(try await session.run("\(setting) '\(tool)' show"))
    // The shell that could not start the pager says so.
    #expect(shown.suffix(all.count) == all[...])
    #expect(shown.count - all.count == (setting.hasPrefix("PAGER=/") ? 1 : 0), "\(shown)")
  }

  @Test func thePagerIsACommandLine() async throws {
    let session = try await session(rows: 200)
    let all = try await reference(session)
    let numbered = lines(try await session.run("PAGER='less -N' '\(tool)' show"))
    #expect(numbered[2].hasPrefix("      3 ") && numbered[2].hasSuffix(all[2]), "\(numbered)")
    // A pager that ends early leaves the rest unread.
    #expect(
      try await session.run("PAGER='head -n 1' '\(tool)' show --full").hasPrefix(all[0] + "\r\n"))
    let paged = try await session.run("PAGER='grep -c . | sed s/^/lines:/' '\(tool)' show")
    #expect(paged == "lines:\(all.count { $0 != "" })\r\n")
  }
}
