import CrashTestSupport
import Foundation
import Glibc
import Testing

@testable import PostmortemTool

/// A program whose supervisor stops it with SIGQUIT, under `postmortem run`.
@Suite struct QuitRequestTests {
  private let directory: SharedDirectory
  private var database: String { directory.path + "/db" }

  init() throws {
    directory = try SharedDirectory()
  }

  private func run(_ words: String...) async throws -> String {
    let child = try await ChildProcess.run(
      try BuiltProducts.besideTests("postmortem"), words, in: directory.path)
    try #require(child.end.exitCode == 0, "\(words) \(child)")
    return child.standardOutput
  }

  private func shown() async throws -> Shown {
    let text = try await run("show", database, "--json", "--no-symbols")
    return try JSONDecoder().decode(Shown.self, from: Data(text.utf8))
  }

  private struct Shown: Decodable {
    struct Cause: Decodable {
      let kind: String
      let certainty: String
    }
    struct Exception: Decodable {
      struct Sender: Decodable {
        let pid: Int32
        let uid: UInt32
      }
      let signal: Int32
      let sender: Sender?
    }
    let cause: Cause?
    let exception: Exception
    let signature: String?
  }

  /// Starts the victim under `postmortem run`, and sends a signal to `postmortem run`.
  private func stop(by signal: Int32) throws {
    let racer = try Racer(
      "postmortem",
      ["run", "--quiet", "--database", database, "--"]
        + [try BuiltProducts.besideTests("HandlerOnlyVictim"), database, "wait-and-abort"],
      through: ["/bin/sh", "-c", #"exec "$0" "$@" 2>/dev/null"#])
    defer { racer.kill() }
    try #require(try racer.line(with: "started").hasPrefix("started"))
    #expect(try racer.end(by: signal) == signal)
  }

  @Test func itIsOneReportThatSaysWhoAskedAndNoCrash() async throws {
    try stop(by: SIGQUIT)
    let quit = try await shown()
    #expect(quit.cause?.kind == "quit-request" && quit.cause?.certainty == "certain")
    #expect(quit.exception.signal == SIGQUIT && quit.signature == "SIGQUIT | quit-request")
    #expect(quit.exception.sender?.pid == getpid(), "not `postmortem run`")
    #expect(quit.exception.sender?.uid == getuid())
    let text = try await run("show", database, "--no-symbols")
    #expect(text.hasPrefix("The process was asked to end: SIGQUIT was sent by process \(getpid())"))

    let statistics = try JSONDecoder().decode(
      StatsCommand.Statistics.self, from: Data(try await run("stats", database, "--json").utf8))
    #expect(statistics.quits == 1 && statistics.ends == [:])
    #expect(statistics.reports.pending.count == 1)
    #expect(try await run("stats", database).contains("Most frequent") == false)
    let exported = try await run("export", database)
    let lines = exported.split(separator: "\n")
    #expect(lines.count == 1 && exported.contains(#""kind":"quit""#), "\(exported)")
    #expect(
      try await run("export", database, "--format", "otlp").contains(#""severityText":"INFO""#))
    let page = try await run("dashboard", database)
    #expect(page.contains("<h1>0 crash reports</h1>"))
    #expect(page.contains("<dt>requests to quit</dt><dd>1</dd>"))
  }

  /// A request that is newer than a crash does not hide the crash; SIGABRT from outside stays a crash.
  @Test func aCrashBeforeItIsShownFirst() async throws {
    try stop(by: SIGABRT)
    try stop(by: SIGQUIT)
    let crash = try await shown()
    #expect(crash.cause?.kind == "sent-signal" && crash.exception.signal == SIGABRT)
    #expect(crash.exception.sender?.pid == getpid())
    let statistics = try JSONDecoder().decode(
      StatsCommand.Statistics.self, from: Data(try await run("stats", database, "--json").utf8))
    #expect(statistics.quits == 1 && statistics.reports.pending.count == 2)
    let text = try await run("stats", database)
    #expect(text.contains("of these, quits     1\n") && !text.contains("SIGQUIT"), "\(text)")
  }
}
