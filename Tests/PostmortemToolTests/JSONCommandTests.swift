import CrashReportUpload
import CrashTestSupport
import Foundation
import Glibc
import Testing

@testable import PostmortemTool

/// The output of `--json`, including errors.
@Suite struct JSONCommandTests {
  private let directory: SharedDirectory
  private var database: String { directory.path + "/db" }

  init() throws {
    directory = try SharedDirectory()
  }

  private struct Failure: Decodable {
    let error: String
    let exitStatus: Int32
  }

  private func run(_ words: String...) async throws -> ChildProcess {
    try await ChildProcess.run(
      try BuiltProducts.besideTests("postmortem"), words, in: directory.path)
  }

  private func decoded<Value: Decodable>(_ type: Value.Type, _ text: String) throws -> Value {
    try JSONDecoder().decode(type, from: Data(text.utf8))
  }

  private func crash() async throws {
    let child = try await ChildProcess.run(
      try BuiltProducts.besideTests("HandlerOnlyVictim"), [database, "abort"], in: directory.path,
      environment: ["SWIFT_BACKTRACE": "enable=no"])
    try #require(child.end.signal == SIGABRT)
  }

  /// The commands in the set print no facts, but scripts, pages, or another program's output.
  @Test func everyCommandThatPrintsFactsHasIt() {
    let without: Set = ["completion", "dashboard", "manual"]
    for command in PostmortemTool.subcommands where !without.contains(command.name) {
      let isDocumented = command.options.contains { $0.name == "--json" }
      #expect(isDocumented, "\(command.name)")
    }
  }

  @Test func anErrorIsAnObjectOnStandardError() async throws {
    for (words, status) in [
      (["show", "--json", "/nonexistent"], 1), (["list", "/nonexistent", "--json"], 1),
      (["show", "--json", "--nonsense", "x"], 64), (["lst", "--json"], 64),
      (["inspect", "/dev/null", "--json"], 1), (["doctor", "--json", "999999999"], 2),
      (["symbolicate", "--json", "--symbols", "/nonexistent"], 1),
    ] as [([String], Int32)] {
      let child = try await ChildProcess.run(
        try BuiltProducts.besideTests("postmortem"), words, in: directory.path)
      let failure = try decoded(Failure.self, child.standardError)
      #expect(failure.exitStatus == status && child.end.exitCode == status, "\(words)")
      #expect(!failure.error.isEmpty && child.standardOutput.isEmpty, "\(words)")
    }
    // After `--`, the word belongs to another program.
    let other = try await run("run", "--", "/nonexistent", "--json")
    #expect(other.standardError.hasPrefix("postmortem: "))
  }

  private struct Tree: Decodable {
    struct Entry: Decodable {
      let offset: Int
      let key: String?
      let number: Int
      let size: Int?
      let value: String?
      let entries: [Entry]?
    }
    let version: Int
    let architecture: String
    let complete: Bool
    let entries: [Entry]
  }

  @Test func inspectHasTheTree() async throws {
    try await crash()
    let pending = database + "/pending-serialized-dumps/"
    let name = try #require(
      try FileManager.default.contentsOfDirectory(atPath: pending).first {
        $0.contains("@") && !$0.contains(".")
      })
    let json = try await run("inspect", pending + name, "--json").standardOutput
    let tree = try decoded(Tree.self, json)
    #expect(tree.complete)
    let text = try await run("inspect", pending + name).standardOutput
    func lines(_ entries: [Tree.Entry]) -> Int {
      entries.reduce(0) { $0 + 1 + lines($1.entries ?? []) }
    }
    // The text has one more line at the top and one at the end.
    #expect(lines(tree.entries) == text.split(separator: "\n").count - 2)
    func all(_ entries: [Tree.Entry]) -> [Tree.Entry] {
      entries.flatMap { [$0] + all($0.entries ?? []) }
    }
    #expect(all(tree.entries).contains { $0.key == "signalNumber" && $0.value == "6" })
    #expect(all(tree.entries).allSatisfy { ($0.value == nil) != ($0.entries == nil) })
  }

  @Test func deleteNamesWhatIsGone() async throws {
    try await crash()
    _ = try await run("process", database)
    let listed = try decoded(
      [ReportEntry].self, try await run("list", database, "--json").standardOutput)
    let id = try #require(listed.first?.reportID)
    let deleted = try await run("delete", database, id, "--json")
    #expect(try decoded([ReportEntry].self, deleted.standardOutput).map(\.reportID) == [id])
    #expect(
      try decoded(
        [ReportEntry].self, try await run("list", database, "--json").standardOutput
      ).isEmpty)
  }

  @Test func doctorHasItsFindings() async throws {
    let child = try await run("doctor", "\(getpid())", "--json")
    let answer = try decoded(DoctorCommand.Answer.self, child.standardOutput)
    #expect(!answer.healthy && answer.pid == getpid())
    #expect(answer.findings.count == 1 && child.end.exitCode == 1)
    #expect(answer.problems == answer.findings && answer.notes.isEmpty)
  }

  @Test func uploadTellsEachReport() async throws {
    try await crash()
    _ = try await run("process", database)
    let enabled = try await run("upload", database, "--enable", "--json")
    #expect(try decoded([String: Bool].self, enabled.standardOutput) == ["uploadsEnabled": true])
    // No server listens on port 1.
    let child = try await run("upload", database, "--url", "http://127.0.0.1:1/", "--json")
    let entry = try decoded(UploadCommand.Entry.self, child.standardOutput)
    #expect(entry.event == "delayed" && entry.reportID != nil && entry.reason?.isEmpty == false)
    #expect(try decoded(Failure.self, child.standardError).exitStatus == 1)
    let dry = try await run("upload", database, "--url", "http://h/", "--json", "--dry-run")
    let request = try decoded(UploadDescription.self, dry.standardOutput)
    #expect(request.url == "http://h/" && request.reportID == entry.reportID)
    #expect(request.size > 1000 && request.body.contains("upload_file_minidump"))
    #expect(request.headers.keys.contains("Content-Type"))
  }

  @Test func debugHasItsCommand() async throws {
    try await crash()
    _ = try await run("process", database)
    let child = try await ChildProcess.run(
      try BuiltProducts.besideTests("postmortem"), ["debug", database, "--json"],
      in: directory.path, environment: ["POSTMORTEM_LLDB": "/opt/some lldb"])
    let answer = try decoded([String: [String]].self, child.standardOutput)
    let command = try #require(answer["command"])
    #expect(command.first == "/opt/some lldb" && command.last?.hasSuffix(".dmp") == true)
  }

  @Test func runTellsEachDump() async throws {
    let child = try await ChildProcess.run(
      try BuiltProducts.besideTests("postmortem"),
      [
        "run", "--database", database, "--json", "--",
        try BuiltProducts.besideTests("HandlerOnlyVictim"), database, "abort",
      ], in: directory.path, environment: ["SWIFT_BACKTRACE": "enable=no"])
    #expect(child.end.signal == SIGABRT)
    let line = try #require(
      child.standardError.split(separator: "\n").last { $0.hasPrefix("{") }, "\(child)")
    let entry = try decoded(ProcessedEntry.self, String(line))
    #expect(entry.outcome == "complete" && !entry.reportID.isEmpty)
  }

  @Test func helpTakesOneWord() async throws {
    #expect(try await run("help", "show").end.exitCode == 0)
    #expect(try await run("help", "show", "extra").end.exitCode == 64)
  }

  @Test func jsonHasNoCharactersThatSteerATerminal() throws {
    let text = "a\u{9B}2J\u{85}\u{7F}\u{202E}b\u{2066}\u{200F}\u{61C}\u{FEFF}é"
    let json = try JSON.text(of: [text: [text]]) + JSON.line(of: [text])
    #expect(json.contains(#"a\u009b2J\u0085\u007f\u202eb\u2066\u200f\u061c\ufeffé"#))
    #expect(
      json.unicodeScalars.allSatisfy { $0 == "\n" || $0 == "é" || (0x20..<0x7F).contains($0.value) }
    )
    let read = try JSONDecoder().decode(
      [String].self, from: Data(JSON.line(of: [text]).utf8))
    #expect(read == [text])
  }
}
