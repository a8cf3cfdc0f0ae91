import CrashTestSupport
import Foundation
import Testing

@Suite struct UploadCommandTests {
  private let directory: SharedDirectory
  private var database: String { directory.path + "/db" }

  init() throws {
    directory = try SharedDirectory()
  }

  private func run(_ words: String...) async throws -> ChildProcess { try await run(words) }

  private func run(_ words: [String]) async throws -> ChildProcess {
    try await ChildProcess.run(
      try BuiltProducts.besideTests("postmortem"), words, in: directory.path)
  }

  private func crash() async throws {
    let child = try await ChildProcess.run(
      try BuiltProducts.besideTests("HandlerOnlyVictim"), [database, "abort"], in: directory.path,
      environment: ["SWIFT_BACKTRACE": "enable=no"])
    try #require(child.end.signal == SIGABRT)
  }

  private func list(_ path: String) async throws -> [ToolReply.Listed] {
    let child = try await run("list", path, "--json")
    return try JSONDecoder().decode([ToolReply.Listed].self, from: Data(child.standardOutput.utf8))
  }

  @Test func fromACrashToAServerAndWhatListSays() async throws {
    try directory.put(Array("of-the-tests\n".utf8), "secret")
    let receiver = try UploadReceiver(secret: "of-the-tests")
    try await crash()
    try await crash()
    #expect(try await run("process", database).end.exitCode == 0)
    let ids = try await list(database).map(\.reportID)

    let refused = try await run("upload", database, "--url", receiver.url)
    #expect(refused.end.exitCode == 1 && refused.standardError.contains("--enable"))
    let dry = try await run(
      "upload", database, ids[0], "--url", receiver.url, "--dry-run", "--field", "team=x")
    #expect(dry.standardOutput.contains("POST \(receiver.url)\n"))
    #expect(dry.standardOutput.contains("name=\"team\"\r\n\r\nx\r\n"))
    #expect(dry.standardOutput.contains("bytes of \(database)/pending/\(ids[0]).dmp>"))
    #expect(dry.standardOutput.contains("name=\"report_cause\"\r\n\r\nabort\r\n"))
    #expect(!dry.standardOutput.contains(ids[1]))
    #expect(
      try await list(database).allSatisfy {
        $0.upload?.attempts == 0 && $0.upload?.requested == false
      })

    // Without the secret, the server refuses all reports; with the secret, the report is sent.
    #expect(try await run("upload", database, ids[0], "--url", receiver.url).end.exitCode == 1)
    var entry = try #require(try await list(database).first)
    #expect(entry.upload?.state == "pending" && entry.upload?.note?.hasPrefix("HTTP 401") == true)
    #expect(entry.upload?.refusedSince != nil && entry.upload?.nextAttempt != nil)
    let text = try await run("list", database).standardOutput
    #expect(text.contains(" UTC, HTTP 401") && text.contains("refused since "))
    let sent = try await run(
      "upload", database, ids[0], "--url", receiver.url, "--secret-file", directory.path + "/secret"
    )
    #expect(sent.end.exitCode == 0, "\(sent.standardError)")
    let entries = try await list(database)
    entry = try #require(entries.first)
    #expect(entry.upload?.state == "uploaded")
    #expect(entry.upload?.serverID == ids[0] && entries[1].upload?.state == "pending")
    #expect(entry.upload?.refusedSince == nil)
    #expect(receiver.forms.map { $0.fields["report_id"] } == [ids[0]])
    let secret = ["--url", receiver.url, "--secret-file", directory.path + "/secret"]
    let again = try await run(["upload", database, ids[0]] + secret)
    #expect(again.end.exitCode == 1 && again.standardError.contains("--force"))
    #expect(receiver.forms.count == 1)
    #expect(try await run(["upload", database, ids[0], "--force"] + secret).end.exitCode == 0)
    #expect(receiver.forms.map { $0.fields["report_id"] } == [ids[0], ids[0]])
    #expect(try await run(["upload", database, "--force"] + secret).end.exitCode == 64)
    let minidump = try #require(receiver.forms.first?.files["upload_file_minidump"])
    #expect(try Data(contentsOf: URL(fileURLWithPath: entry.path)) == Data(minidump))
    try directory.put(minidump, "received.dmp")
    let shown = try await run("show", "received.dmp", "--no-symbols")
    #expect(shown.standardOutput.contains("SIGABRT"))

    #expect(try await run("upload", database, "--enable").end.exitCode == 0)
    let all = try await run(
      "upload", database, "--url", receiver.url, "--secret-file", directory.path + "/secret")
    #expect(all.end.exitCode == 0)
    #expect(receiver.forms.count == 3)
  }

  @Test func consentCanBeGivenBeforeThereIsAReportOrADatabase() async throws {
    let victim = try BuiltProducts.besideTests("HandlerOnlyVictim")
    let root = directory.path
    // A database can be an empty directory, such as a new volume, one that a handler has made without a crash, or
    // a missing one.
    for name in ["empty", "volume/lost+found", "started", "missing"] where name != "missing" {
      try FileManager.default.createDirectory(
        atPath: "\(root)/places/\(name)", withIntermediateDirectories: true)
    }
    _ = try await run("run", "--", victim, root + "/places/started", "abort")
    for name in ["empty", "volume", "started", "missing"] {
      let place = "\(root)/places/\(name)"
      if name == "missing" {
        let refused = try await run("upload", place, "--enable")
        #expect(refused.end.exitCode == 1 && !FileManager.default.fileExists(atPath: place))
      }
      let options = name == "missing" ? ["--create"] : []
      for (option, isEnabled) in [("--enable", true), ("--disable", false), ("--enable", true)] {
        let child = try await run(["upload", place, option, "--json"] + options)
        #expect(child.end.exitCode == 0, "\(name): \(child.standardError)")
        #expect(child.standardOutput.contains("\(isEnabled)"))
      }
      // A program that starts later has the consent.
      let receiver = try UploadReceiver()
      let child = try await run(
        "run", "--database", place, "--upload", receiver.url, "--", victim, place, "abort")
      #expect(child.end.signal == SIGABRT && receiver.forms.count == (name == "started" ? 2 : 1))
    }
    // A directory with other files is not taken for a database.
    try directory.put([1], "places/file")
    let child = try await run("upload", root + "/places", "--enable")
    #expect(child.end.exitCode == 1 && child.standardError.contains("--create"))
    #expect(try await run("upload", root + "/places", "--create").end.exitCode == 64)
  }

  @Test func runSendsWhatTheProgramLeft() async throws {
    let receiver = try UploadReceiver()
    let victim = try BuiltProducts.besideTests("HandlerOnlyVictim")
    var child = try await run(
      "run", "--database", database, "--upload", receiver.url, "--", victim, database, "abort")
    #expect(child.end.signal == SIGABRT)
    #expect(child.standardError.contains("uploads are not enabled"))
    #expect(try await run("upload", database, "--enable").end.exitCode == 0)
    child = try await run(
      "run", "--database", database, "--upload", receiver.url, "--", victim, database, "abort")
    #expect(child.end.signal == SIGABRT && child.standardError.contains("uploaded"))
    #expect(receiver.forms.count == 2)
    child = try await run(
      "run", "--database", database, "--upload", "http://127.0.0.1:1/", "--", victim, database,
      "abort")
    #expect(child.end.signal == SIGABRT && child.standardError.contains("not before"))
    #expect(try await list(database).map(\.upload?.state) == ["uploaded", "uploaded", "pending"])
    child = try await run("run", "--upload", receiver.url, "--", "/bin/true")
    #expect(child.end.exitCode == 64)
  }

  @Test func watchSendsWhatItMakes() async throws {
    let receiver = try UploadReceiver()
    try await crash()
    let tool = try BuiltProducts.besideTests("postmortem")
    // The test ends watch by a signal once it prints that the report is sent; without consent, watch prints that
    // at once.
    let script = """
      "$1" watch "$2" --upload "$3" 2>err & until grep -q "$4" err; do sleep 0.05; done
      kill $!; wait $!; status=$?; cat err >&2; exit $status
      """
    var child = try await ChildProcess.run(
      "/bin/bash", ["-c", script, "sh", tool, database, receiver.url, "not enabled"],
      in: directory.path)
    #expect(child.end.exitCode == 0 && receiver.forms.isEmpty, "\(child.standardError)")
    #expect(try await run("upload", database, "--enable").end.exitCode == 0)
    child = try await ChildProcess.run(
      "/bin/bash", ["-c", script, "sh", tool, database, receiver.url, "uploaded"],
      in: directory.path)
    #expect(child.end.exitCode == 0, "\(child.standardError)")
    #expect(receiver.forms.count == 1)
    #expect(try await list(database).map(\.upload?.state) == ["uploaded"])
    child = try await run("watch", database, "--upload", "ftp://x")
    #expect(child.end.exitCode == 1 && child.standardError.contains("http"))
  }
}
