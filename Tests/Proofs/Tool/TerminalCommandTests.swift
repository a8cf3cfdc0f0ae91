import CrashTestSupport
import Foundation
import Testing

/// The output on a terminal, which differs from that in a pipe.
@Suite(.needs(.python3)) struct TerminalCommandTests {
  private let directory: SharedDirectory
  private var database: String { directory.path + "/db" }

  init() throws {
    directory = try SharedDirectory()
  }

  /// Runs the arguments after the first two on a terminal whose width is the first one, types the second one, and
  /// exits with the same status.
  private static let terminal = """
    import fcntl, os, struct, sys, termios
    process, terminal = os.forkpty()
    if process == 0:
        os.read(0, 1)
        os.execv(sys.argv[3], sys.argv[3:])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack('HHHH', 24, int(sys.argv[1]), 0, 0))
    os.write(terminal, b'\\n' + sys.argv[2].encode())
    while True:
        try:
            data = os.read(terminal, 4096)
        except OSError:
            break
        if not data:
            break
        os.write(1, data)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
    """

  private func onTerminal(
    _ words: String..., width: Int = 80, typing text: String = "", color: Bool = false
  ) async throws -> (text: String, status: Int32?) {
    try await run(words, width: width, typing: text, color: color)
  }

  private func run(
    _ words: [String], width: Int = 80, typing text: String = "", color: Bool = false
  ) async throws -> (text: String, status: Int32?) {
    let python = try #require(
      (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        .map { $0 + "/python3" }.first { FileManager.default.isExecutableFile(atPath: $0) })
    let child = try await ChildProcess.run(
      python,
      ["-c", Self.terminal, "\(width)", text, try BuiltProducts.besideTests("postmortem")] + words,
      in: directory.path,
      environment: [
        "POSTMORTEM_DATABASE": database, "NO_COLOR": color ? "" : "1", "TERM": "xterm",
        "PAGER": "cat",
      ])
    #expect(child.standardError == "")
    // Removes the first line feed, and the remains of a progress line.
    let lines = child.standardOutput.replacing("\r\n", with: "\n").split(
      separator: "\n", omittingEmptySubsequences: false
    ).dropFirst().map { String($0.split(separator: "\u{1B}[K").last ?? "") }
    return (lines.joined(separator: "\n"), child.end.exitCode)
  }

  private func pipe(_ words: String...) async throws -> String {
    try await ChildProcess.run(
      try BuiltProducts.besideTests("postmortem"), words, in: directory.path,
      environment: ["POSTMORTEM_DATABASE": database]
    ).standardOutput
  }

  private func crash() async throws {
    let child = try await ChildProcess.run(
      try BuiltProducts.besideTests("HandlerOnlyVictim"), [database, "abort"], in: directory.path,
      environment: ["SWIFT_BACKTRACE": "enable=no"])
    try #require(child.end.signal == SIGABRT)
  }

  @Test func aListIsATableAndSilenceIsSaid() async throws {
    try await crash()
    let waiting = try await onTerminal("list")
    let rows = waiting.text.split(separator: "\n")
    try #require(rows.count == 3, "\(waiting)")
    #expect(rows[0].hasPrefix("ID        WHEN"), "\(waiting)")
    #expect(rows[1].contains(" ago  handler only  waiting: SIGABRT"), "\(waiting)")
    #expect(rows[2] == "No reports, 1 dump waits to be processed: postmortem process")
    let shown = try await onTerminal("show")
    #expect(shown.text.contains("not a report yet; postmortem process converts it"), "\(shown)")
    let processed = try await onTerminal("process")
    #expect(processed.text.hasPrefix("ID        PROGRAM"), "\(processed)")
    #expect(processed.text.contains("\n1 report created; read it with: postmortem show "))
    let again = try await onTerminal("process")
    #expect(again.text == "No dumps are waiting; 1 report: postmortem list.\n" && again.status == 0)
    #expect(try await onTerminal("process", "--quiet").text == "")
    for width in [80, 200] {
      let list = try await onTerminal("list", width: width).text.split(separator: "\n")
      try #require(list.count == 3, "\(list)")
      #expect(list[0].hasPrefix("ID        WHEN") && list[2] == "1 report")
      #expect(list.allSatisfy { $0.count <= width }, "\(list)")
      #expect(list[1].contains(" ago  handler only  SIGABRT abort  "), "\(list)")
    }
    #expect(try await onTerminal("list", color: true).text.contains("\u{1B}[31mSIGABRT abort"))
    let ids = try await pipe("list", "-q")
    #expect(try await onTerminal("list", "-q").text == ids)
    #expect(
      try await onTerminal("list", "--program", "none").text == "No reports match; there are 1\n")
    let groups = try await onTerminal("list", "--group").text
    #expect(groups.hasPrefix("COUNT  LAST") && groups.contains("SIGABRT | "), "\(groups)")
    #expect(try await onTerminal("stats").text.contains("Most frequent:\nCOUNT"))
    #expect(try await onTerminal("prune").text == "Deleted 0 reports; 1 report left.\n")
    let dry = try await onTerminal("prune", "--age", "0", "--dry-run").text
    #expect(dry.hasSuffix("\nWould delete 1 report; 0 reports left.\n"), "\(dry)")
    let enabled = try await onTerminal("upload", "--enable").text
    #expect(enabled == "Uploads from \(database) are now allowed.\n")
    let page = try await onTerminal("dashboard", "-o", "page.html").text
    #expect(page == "Wrote page.html: 1 report, with 1 pages in page.html.reports/.\n", "\(page)")
  }

  @Test(arguments: [80, 60]) func everydayCommandsFitTheTerminal(width: Int) async throws {
    try await crash()
    func shown(_ words: String...) async throws -> [Substring] {
      let run = try await run(words, width: width)
      #expect(run.status == 0, "\(words) \(run)")
      let lines = run.text.split(separator: "\n")
      for line in lines where !line.contains("/") {
        #expect(line.count <= width, "\(words): \(line)")
      }
      return lines
    }
    let waiting = try await shown("list")
    try #require(waiting.count >= 3 && waiting[1].contains("waiting"), "\(waiting)")
    let id = waiting[1].prefix(8)
    let processed = try await shown("process")
    #expect(
      processed.first?.hasPrefix("ID ") == true
        && processed.dropFirst().first?.hasPrefix(id) == true)
    let list = try await shown("list")
    #expect(list.first?.split(separator: " ").last == "WHERE", "\(list)")
    #expect(list.count == 3 && list[1].hasPrefix(id) && list[1].contains("SIGABRT"), "\(list)")
    #expect(list[2] == "1 report")
    // A narrower terminal has fewer columns.
    let narrow = try await onTerminal("list", width: 40).text.split(separator: "\n").prefix(2)
    #expect(narrow.allSatisfy { $0.count <= 40 }, "\(narrow)")
    #expect(narrow.first?.split(separator: " ").last == "CRASH", "\(narrow)")
    #expect(narrow.last?.hasPrefix(id) == true && narrow.last?.contains("SIGABRT") == true)
    let groups = try await shown("list", "--group")
    #expect(groups.count == 2 && groups[1].contains(id), "\(groups)")
    let stats = try await shown("stats")
    #expect(stats.contains { $0.hasPrefix("reports, pending    1 (") }, "\(stats)")
    let report = try await shown("show", String(id))
    #expect(report.contains { $0.hasPrefix("Signal") && $0.contains("SIGABRT") }, "\(report)")
    #expect(try await shown("prune", "--dry-run").last == "Would delete 0 reports; 1 report left.")
    #expect(try await shown("list", "-1", "--no-color").count == 3)
    #expect(try await shown("list", "-0").last == "No reports match; there are 1")
  }

  @Test func deleteAsks() async throws {
    try await crash()
    _ = try await pipe("process")
    let id = String(try await pipe("list", "-q").dropLast())
    for answer in ["n\n", "\n", "yess\n", "\u{4}"] {
      let no = try await onTerminal("delete", String(id.prefix(8)), typing: answer)
      #expect(no.text.contains("Delete this report? [y/N]") && no.status == 1, "\(no)")
      #expect(no.text.contains("postmortem: nothing was deleted"), "\(no)")
    }
    #expect(try await pipe("list", "-q") == id + "\n")
    let dry = try await onTerminal("delete", "--dry-run", id)
    #expect(dry.status == 0 && dry.text.hasSuffix("\nNothing was deleted.\n"), "\(dry)")
    let yes = try await onTerminal("delete", id, typing: "y\n")
    #expect(yes.status == 0 && yes.text.hasSuffix("Deleted 1 report.\n"), "\(yes)")
    #expect(try await pipe("list", "-q") == "")
    try await crash()
    _ = try await pipe("process")
    let next = String(try await pipe("list", "-q").dropLast())
    let unasked = try await onTerminal("rm", "-y", next)
    #expect(unasked.text == "Deleted 1 report.\n" && unasked.status == 0, "\(unasked)")
  }
}
