import CrashTestSupport
import Foundation
import Testing

@testable import PostmortemTool

/// `postmortem collect` at work for a test.
private final class CollectorProcess {
  private let process = Process()
  let url: String

  init(_ words: [String]) throws {
    process.executableURL = URL(fileURLWithPath: try BuiltProducts.besideTests("postmortem"))
    process.arguments = ["collect"] + words + ["--port", "0"]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    var line = ""
    while let byte = try output.fileHandleForReading.read(upToCount: 1)?.first, byte != 0x0A {
      line.append(Character(Unicode.Scalar(byte)))
    }
    url = String(line.split(separator: " ").last ?? "")
  }

  var port: String { String(url.dropFirst("http://127.0.0.1:".count).dropLast()) }

  /// Ends it, and gives its exit status.
  func stop() -> Int32 {
    process.terminate()
    process.waitUntilExit()
    return process.terminationStatus
  }

  deinit { process.killAndWait() }
}

@Suite struct UploadCommandTests {
  private let folder: SharedFolder
  private var database: String { folder.path + "/db" }
  private var collected: String { folder.path + "/collected" }

  init() throws {
    folder = try SharedFolder()
  }

  private func run(_ words: String...) async throws -> ChildProcess {
    try await ChildProcess.run(
      try BuiltProducts.besideTests("postmortem"), words, in: folder.path)
  }

  private func crash() async throws {
    let child = try await ChildProcess.run(
      try BuiltProducts.besideTests("HandlerOnlyVictim"), [database, "abort"], in: folder.path,
      environment: ["SWIFT_BACKTRACE": "enable=no"])
    try #require(child.end.signal == SIGABRT)
  }

  private func list(_ path: String) async throws -> [ListCommand.Entry] {
    let child = try await run("list", path, "--json")
    return try JSONDecoder().decode([ListCommand.Entry].self, from: Data(child.standardOutput.utf8))
  }

  @Test func fromACrashToACollectorAndWhatListSays() async throws {
    try folder.put(Array("of-the-tests\n".utf8), "secret")
    let collector = try CollectorProcess([collected, "--secret-file", folder.path + "/secret"])
    try await crash()
    try await crash()
    #expect(try await run("process", database).end.exitCode == 0)
    let ids = try await list(database).map(\.id)

    let refused = try await run("upload", database, "--url", collector.url)
    #expect(refused.end.exitCode == 1 && refused.standardError.contains("--enable"))
    let dry = try await run(
      "upload", database, ids[0], "--url", collector.url, "--dry-run", "--field", "team=x")
    #expect(dry.standardOutput.contains("POST \(collector.url)\n"))
    #expect(dry.standardOutput.contains("name=\"team\"\r\n\r\nx\r\n"))
    #expect(dry.standardOutput.contains("bytes of \(database)/pending/\(ids[0]).dmp>"))
    #expect(!dry.standardOutput.contains(ids[1]))
    #expect(try await list(database).allSatisfy { $0.upload.attempts == 0 && !$0.upload.requested })

    // Without the secret the collector refuses it for good; asked for again, it goes.
    #expect(try await run("upload", database, ids[0], "--url", collector.url).end.exitCode == 1)
    var entry = try #require(try await list(database).first)
    #expect(entry.upload.state == "skipped" && entry.upload.note?.hasPrefix("HTTP 401") == true)
    let text = try await run("list", database).standardOutput
    #expect(text.contains("skipped, HTTP 401"))
    let sent = try await run(
      "upload", database, ids[0], "--url", collector.url, "--secret-file", folder.path + "/secret")
    #expect(sent.end.exitCode == 0, "\(sent.standardError)")
    let entries = try await list(database)
    entry = try #require(entries.first)
    #expect(entry.state == "completed" && entry.upload.state == "uploaded")
    #expect(entry.upload.serverID == ids[0] && entries[1].upload.state == "pending")
    #expect(try await list(collected).map(\.id) == [ids[0]])
    let shown = try await run("show", ids[0], "--database", collected, "--no-symbols")
    #expect(shown.standardOutput.contains("SIGABRT"))
    #expect(try Data(contentsOf: URL(fileURLWithPath: entry.path)).count == Int(entry.size))

    #expect(try await run("upload", database, "--enable").end.exitCode == 0)
    let all = try await run(
      "upload", database, "--url", collector.url, "--secret-file", folder.path + "/secret")
    #expect(all.end.exitCode == 0)
    #expect(try await list(collected).count == 2)
    #expect(collector.stop() == 0)
  }

  @Test func runSendsWhatTheProgramLeft() async throws {
    let collector = try CollectorProcess([collected])
    let victim = try BuiltProducts.besideTests("HandlerOnlyVictim")
    var child = try await run(
      "run", "--database", database, "--upload", collector.url, "--", victim, database, "abort")
    #expect(child.end.signal == SIGABRT)
    #expect(child.standardError.contains("uploads are not enabled"))
    #expect(try await run("upload", database, "--enable").end.exitCode == 0)
    child = try await run(
      "run", "--database", database, "--upload", collector.url, "--", victim, database, "abort")
    #expect(child.end.signal == SIGABRT && child.standardError.contains("uploaded"))
    #expect(try await list(collected).count == 2)
    child = try await run(
      "run", "--database", database, "--upload", "http://127.0.0.1:1/", "--", victim, database,
      "abort")
    #expect(child.end.signal == SIGABRT && child.standardError.contains("not before"))
    #expect(try await list(database).map(\.upload.state) == ["uploaded", "uploaded", "pending"])
    child = try await run("run", "--upload", collector.url, "--", "/bin/true")
    #expect(child.end.exitCode == 64)
  }

  @Test(.needs(.python3)) func aClientOfAnothersAndAHostileOne() async throws {
    try folder.put(Array("of-the-tests".utf8), "secret")
    let collector = try CollectorProcess(
      [collected, "--secret-file", folder.path + "/secret", "--max-size", "2", "--quota", "3"])
    try await crash()
    #expect(try await run("process", database).end.exitCode == 0)
    let minidump = try #require(try await list(database).first?.path)
    let script = BuiltProducts.packageRoot + "/Tests/PostmortemToolTests/CollectorClient.py"
    let client = try await ChildProcess.run(
      try #require(OutsideTool.python3.path), [script, collector.port, minidump], in: folder.path)
    #expect(client.standardOutput == "all as it should be\n", "\(client.standardError)")
    let reports = try await list(collected)
    #expect(reports.count == 4)
    let original = try Data(contentsOf: URL(fileURLWithPath: minidump))
    for report in reports {
      #expect(try Data(contentsOf: URL(fileURLWithPath: report.path)) == original)
    }
    let first = "11111111-2222-4333-8444-555555555555"
    let names = folder.names("collected/attachments/\(first)")
    #expect(names == ["2-log.txt", "form-fields.json", "log.txt"])
    #expect(
      folder.bytes("collected/attachments/\(first)/log.txt") == Array("a log\r\n--".utf8))
    #expect(folder.names("collected/new").isEmpty)
    #expect(collector.stop() == 0)
  }

  @Test func aCollectorForOthersNeedsASecret() async throws {
    let child = try await run("collect", collected, "--listen", "0.0.0.0", "--port", "0")
    #expect(child.end.exitCode == 1 && child.standardError.contains("--secret-file"))
  }
}
