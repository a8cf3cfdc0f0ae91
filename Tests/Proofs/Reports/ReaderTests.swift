import CrashCatalogue
import CrashTestSupport
import Foundation
import Testing

/// Every reader of a report gives the same cause, certainty, message, place and signature, whether the program or the
/// tool converted the dump, and before and after `show` read the report.
@Suite(.serialized)
struct ReaderTests {
  /// The deaths, hangs, deadlocks and throws whose reports are read, as arguments of crash-lab.
  ///
  /// Without `--full`, every fourth kind of crash is read.
  private static let scenes: [[String]] = {
    let kinds = KnownCrash.all.filter { $0.places.contains(.main) && $0.isOnItsThread }
    let isFull = ProcessInfo.processInfo.environment["POSTMORTEM_VERDICTS"] != nil
    let shown = kinds.enumerated().filter { isFull || $0.offset.isMultiple(of: 4) }
    return shown.map { [$0.element.kind] } + [
      ["uncaught-error", "--throws"], ["null-read", "--privacy", "sanitized"],
      ["fatal-error", "--privacy", "no-memory"],
      ["hang", "heartbeat", "idle", "kept"], ["hang", "main", "busy", "kept"],
      ["locks", "mutex-2", "watched"], ["locks", "mutex-2", "dumps"],
      ["tasks", "cycle", "3", "dumps"],
    ]
  }()

  @Test(arguments: scenes)
  func allReadersGiveOneVerdict(_ scene: [String]) async throws {
    let directory = try TemporaryDirectory()
    let victim = try BuiltProducts.besideTests("crash-lab")
    let tool = try BuiltProducts.besideTests("postmortem")
    let (database, copy) = (directory.path + "/program", directory.path + "/tool")
    let quiet = ["SWIFT_BACKTRACE": "enable=no"]
    _ = try await ChildProcess.run(
      victim, scene + ["--database", database], in: directory.path, environment: quiet)
    try FileManager.default.copyItem(atPath: database, toPath: copy)
    for (program, words) in [
      (victim, ["process", "--database", database]), (tool, ["process", copy]),
    ] {
      let child = try await ChildProcess.run(
        program, words, in: directory.path, environment: quiet)
      try #require(child.end.exitCode == 0, "\(child.standardError)")
    }
    let list = try await ChildProcess.run(tool, ["list", database, "--quiet"], in: directory.path)
    let ids = list.standardOutput.split(separator: "\n").map(String.init)
    try #require(!ids.isEmpty, "no report")
    var expected: [String: ReportReaders.Facts] = [:]
    for path in [database, database, copy] {
      let readers = try await ReportReaders(of: path, tool: tool, in: directory.path)
      for id in ids {
        let facts = try await readers.shown(id)
        let first = expected[id] ?? facts
        expected[id] = first
        #expect(try await readers.disagreements(on: id, with: first) == [], "\(path)")
      }
    }
  }
}
