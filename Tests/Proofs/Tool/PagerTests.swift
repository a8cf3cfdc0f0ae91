import CrashTestSupport
import Foundation
import IntermediateDump
import Testing

/// `postmortem show` in an interactive shell on a terminal of 24 lines, with real pagers.
@Suite(.needs(.bash), .needs(.less), .needs(.more)) struct PagerTests {
  private let directory: SharedDirectory
  private let tool: String

  /// Wide enough for a line with a long path of the program, which a pager would draw in two.
  private static let columns: UInt16 = 500

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
      in: directory.path, environment: environment.merging(variables) { $1 }, rows: rows,
      columns: Self.columns)
  }

  /// The lines of a text without terminal sequences, and without what a pager has erased.
  private func lines(_ text: String) -> [String] {
    let sequence = /\u{1B}(\[[0-9;?]*[A-Za-z]|[=>])/
    return text.replacing(sequence, with: "").replacing(" \u{8}", with: "")
      .replacing("\r\n", with: "\n")
      .split(separator: "\n", omittingEmptySubsequences: false)
      .map { line in
        let visible = line.split(separator: "\r").last ?? ""
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
  private func begin(
    _ session: ShellSession, prompt: String = "\n:"
  ) async throws -> ArraySlice<String> {
    session.type("'\(tool)' show\r")
    let page = lines(try await session.wait(for: prompt)).dropFirst()
    try await session.waitForSleep()
    return page
  }

  @Test func lessShowsTheReportPageByPage() async throws {
    let session = try await session()
    let all = try await reference(session)
    #expect(try await begin(session) == all[..<23])
    session.type(" ")
    #expect(lines(try await session.wait(for: "\n:"))[...] == all[23..<46])
    session.type("G")
    let last = lines(try await session.wait(for: "(END)"))
    #expect(last.suffix(2) == all.suffix(2))
    session.type("q")
    _ = try await session.waitForPrompt(status: 0)
    // In the middle of the report, too.
    _ = try await begin(session)
    session.type("q")
    _ = try await session.waitForPrompt(status: 0)
    #expect(try await session.run("stty").contains("-echo") == false)
  }

  @Test func moreShowsTheReportPageByPage() async throws {
    let session = try await session(["PAGER": "more"])
    let all = try await reference(session)
    let first = try await begin(session, prompt: "--More--").dropLast()
    #expect(first.count > 20 && first == all[..<first.count])
    session.type(" ")
    let second = lines(try await session.wait(for: "--More--")).dropLast()
    #expect(second.count > 20 && second == all[first.count..<first.count + second.count])
    session.type("q")
    _ = try await session.waitForPrompt(status: 0)
    // more ends at Ctrl-C, as late as at the next key if it reads from a pipe, and so does the command.
    _ = try await begin(session, prompt: "--More--")
    session.type("\u{3} ")
    _ = try await session.wait(for: "[status ")
    #expect(["0", "130"].contains(try await session.wait(for: "] ")))
    #expect(try await session.run("stty").contains("-echo") == false)
    _ = try await begin(session, prompt: "--More--")
    session.type("\u{1A}")
    _ = try await session.waitForPrompt(status: 148)
  }

  /// The terminal sends the signal to the command, too; the pager alone acts on it.
  @Test func controlCIsForThePager() async throws {
    let session = try await session()
    let all = try await reference(session)
    _ = try await begin(session)
    let command = session.foreground
    session.type("\u{3}")
    // less draws the page again.
    _ = try await session.wait(for: "\n:")
    session.type(" ")
    #expect(lines(try await session.wait(for: "\n:"))[...] == all[23..<46])
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
    _ = try await begin(session)
    #expect(try await session.stopJob().contains("Stopped"))
    session.type("fg\r")
    _ = try await session.wait(for: "\n:")
    session.type(" ")
    #expect(lines(try await session.wait(for: "\n:"))[...] == all[23..<46])
    session.type("q")
    _ = try await session.waitForPrompt(status: 0)
    #expect(try await session.run("jobs") == "")
    // A job in the background stops when its pager wants the terminal, and continues in the foreground.
    session.type("'\(tool)' show &\r")
    _ = try await session.waitForPrompt(status: 0)
    session.type("fg\r")
    _ = try await session.wait(for: "\n:")
    session.type("q")
    _ = try await session.waitForPrompt(status: 0)
  }

  @Test func thePagerFollowsTheSizeOfTheTerminal() async throws {
    let session = try await session()
    let all = try await reference(session)
    _ = try await begin(session)
    session.resize(rows: 11, columns: Self.columns)
    // less draws the smaller page.
    #expect(lines(try await session.wait(for: "\n:"))[...] == all[..<10])
    session.type("q")
    _ = try await session.waitForPrompt(status: 0)
  }

  @Test func aTextThatFitsIsPrintedAndLessEnds() async throws {
    let session = try await session(rows: 200)
    let all = try await reference(session)
    let shown = lines(try await session.run("'\(tool)' show"))
    #expect(shown == all)
  }

  @Test func withoutAPagerTheWholeReportIsPrinted() async throws {
    let session = try await session()
    let all = try await reference(session)
    for setting in [
      "PAGER=/nonexistent/pager", "PAGER=/etc/passwd", "PAGER=", "PAGER='cat'", "TERM=dumb",
      "env -u TERM", "PATH=.",
    ] {
      let shown = lines(try await session.run("\(setting) '\(tool)' show"))
      #expect(shown.suffix(all.count) == all[...], "\(setting)")
      // A shell that cannot start the pager says so.
      #expect(shown.count - all.count == (setting.hasPrefix("PAGER=/") ? 1 : 0), "\(shown)")
    }
  }

  /// The text is larger than a pipe, so the command still writes when the pager ends.
  @Test func theRestOfALongReportIsLeftUnread() async throws {
    let dump = IntermediateDumpEncoding.encode(sizeHint: 4 << 20) { writer in
      writer.header()
      writer.startArray(.threads)
      for number in 0..<2000 {
        writer.startMap(.thread)
        writer.unsigned(.threadID, UInt64(1000 + number), width: 4)
        writer.text(.threadName, "a thread with a long name")
        writer.end()
      }
      writer.end()
      _ = writer.endDocument()
    }
    try directory.put(try #require(dump), "dump")
    let session = try await session()
    let size = try await session.run("'\(tool)' show --full ./dump --no-pager | wc -c")
    try #require(Int(lines(size)[0]).map { $0 > 1 << 16 } == true, "\(size)")
    session.type("'\(tool)' show --full ./dump\r")
    _ = try await session.wait(for: "\n:")
    session.type("q")
    _ = try await session.waitForPrompt(status: 0)
    let head = try await session.run("PAGER='head -n 1' '\(tool)' show --full ./dump")
    #expect(lines(head).count == 2, "\(head)")
  }

  @Test func thePagerIsACommandLine() async throws {
    let session = try await session(rows: 200)
    let all = try await reference(session)
    let numbered = lines(try await session.run("PAGER='less -N' '\(tool)' show"))
    #expect(numbered[1] == "      2 " + all[1], "\(numbered)")
    // A pager that ends early leaves the rest unread.
    #expect(
      try await session.run("PAGER='head -n 1' '\(tool)' show --full").hasPrefix(all[0] + "\r\n"))
    let paged = try await session.run("PAGER='grep -c . | sed s/^/lines:/' '\(tool)' show")
    #expect(paged == "lines:\(all.count { $0 != "" })\r\n")
  }
}
