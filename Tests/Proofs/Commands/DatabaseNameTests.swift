import CrashTestSupport
import Foundation
import Testing

/// The ways in which a command line names its database.
@Suite struct DatabaseNameTests {
  private let directory: SharedDirectory
  private var database: String { directory.path + "/db" }

  init() throws {
    directory = try SharedDirectory()
  }

  private func run(_ words: [String], variable: String? = nil) async throws -> ChildProcess {
    try await ChildProcess.run(
      try BuiltProducts.besideTests("postmortem"), words, in: directory.path,
      environment: ["POSTMORTEM_DATABASE": variable ?? ""])
  }

  /// Makes a report in a database below the directory, and returns its ID.
  private func makeReport(in name: String) async throws -> String {
    try FileManager.default.createDirectory(
      atPath: directory.path + "/" + name, withIntermediateDirectories: true)
    let child = try await ChildProcess.run(
      try BuiltProducts.besideTests("HandlerOnlyVictim"), [directory.path + "/" + name, "abort"],
      in: directory.path, environment: ["SWIFT_BACKTRACE": "enable=no"])
    try #require(child.end.signal == SIGABRT)
    #expect(try await run(["process", "./" + name]).end.exitCode == 0)
    let names = directory.names(name + "/pending").filter { $0.hasSuffix(".dmp") }
    return String(try #require(names.first).dropLast(4))
  }

  @Test func everyCommandOfADatabaseTakesTheOption() async throws {
    let id = try await makeReport(in: "db")
    for (command, more) in [
      ("list", []), ("show", ["--text"]), ("stats", []), ("export", []), ("process", []),
      ("prune", ["--dry-run"]), ("delete", ["--dry-run", id]), ("debug", ["--print"]),
      ("upload", ["--url", "http://h/", "--dry-run"]), ("dashboard", []),
    ] as [(String, [String])] {
      for words in [
        [command, "-d", database] + more, [command] + more + ["--database=" + database],
        ["-d", database, command] + more, ["--database", database, command] + more,
        [command, "-d" + database] + more,
      ] {
        let child = try await run(words)
        #expect(child.end.exitCode == 0 && child.standardError == "", "\(words): \(child)")
      }
      // The option has precedence over the variable.
      let child = try await run([command, "-d", database] + more, variable: "/nonexistent")
      #expect(child.end.exitCode == 0, "\(child)")
    }
  }

  @Test func aDirectoryHasASlash() async throws {
    let id = try await makeReport(in: "db")
    let parent = URL(fileURLWithPath: directory.path).lastPathComponent
    for path in [database, "./db", "db/", "../\(parent)/db"] {
      for words in [["list"], ["show"], ["show", id], ["stats"], ["delete", "--dry-run", id]] {
        let child = try await run([words[0], path] + words.dropFirst(), variable: "/nonexistent")
        #expect(child.end.exitCode == 0 && child.standardError == "", "\(words) \(child)")
      }
    }
    let twice = try await run(["list", "-d", "db", "./db"])
    #expect(twice.end.exitCode == 64 && twice.standardError.contains("two databases"))
    #expect(try await run(["list"]).standardError.contains("use --database DIR, or set POSTM"))
  }

  /// A directory that has the name of a word does not change the word's meaning.
  @Test func aWordIsNeverADirectory() async throws {
    let id = try await makeReport(in: "db")
    let beginning = String(id.prefix(4))
    let other = try await makeReport(in: beginning)
    let shown = try await run(["show", beginning], variable: database)
    #expect(shown.end.exitCode == 0 && shown.standardOutput.contains(id), "\(shown)")
    for words in [
      ["delete", "--dry-run"], ["upload", "--url", "http://h/", "--dry-run", "--json"],
    ] {
      let child = try await run(words + [beginning], variable: database)
      #expect(child.end.exitCode == 0 && child.standardOutput.contains(id), "\(words) \(child)")
    }
    // The commands that expect a directory say how to name it; without a database, an ID cannot be looked up.
    for variable in [nil, database] {
      for command in ["stats", "export", "dashboard", "prune", "process", "watch"] {
        let child = try await run([command, "db"], variable: variable)
        #expect(child.end.exitCode == 64 && child.standardOutput == "", "\(command) \(child)")
        let advice = "'db' has no slash: to name a directory, use ./db or --database db"
        #expect(child.standardError.contains(advice), "\(command) \(child)")
      }
    }
    for words in [
      ["show", "db"], ["show", beginning, other], ["debug", "db", "--print"],
      ["delete", "db", id], ["upload", "db", "--url", "http://h/", "--dry-run"],
    ] {
      let child = try await run(words)
      #expect(child.end.exitCode == 64 && child.standardOutput == "", "\(words) \(child)")
    }
    #expect(directory.names("db/pending").contains("\(id).dmp"))
    let deleted = try await run(["delete", beginning], variable: database)
    #expect(deleted.end.exitCode == 0, "\(deleted)")
    #expect(!directory.names("db/pending").contains("\(id).dmp"))
    #expect(directory.names(beginning + "/pending").contains("\(other).dmp"))
  }

  /// A word selects a program, a process or the beginning of an ID; a directory of that name changes nothing.
  @Test func aWordSelectsRowsOfTheList() async throws {
    let id = try await makeReport(in: "db")
    _ = try await makeReport(in: String(id.prefix(4)))
    let entry = try #require(
      try JSONDecoder().decode(
        [ToolReply.Listed].self,
        from: Data(try await run(["list", "./db", "--json"]).standardOutput.utf8)
      ).first)
    let pid = try #require(entry.pid)
    for word in [
      "HandlerOnlyVictim", "handler only", "handler", String(id.prefix(4)), id, "\(pid)",
    ] {
      for words in [["-d", "db", word], ["./db", word], ["./db", "--group", word]] {
        let child = try await run(["list"] + words)
        let isFound = word != "handler"
        #expect(child.end.exitCode == 0 && child.standardError == "", "\(words) \(child)")
        #expect((child.standardOutput != "") == isFound, "\(words) \(child)")
      }
    }
    let directory = try await run(["list", "db"], variable: database)
    #expect(directory.standardOutput == "", "\(directory)")
    #expect(directory.standardError.contains("to name the directory, use ./db"), "\(directory)")
    let unnamed = try await run(["list", "db"])
    #expect(unnamed.end.exitCode == 64 && unnamed.standardError.contains("use ./db or"))
    #expect(try await run(["list", "./db", "a", "b"]).end.exitCode == 64)
  }

  @Test func commandsThatReadFindTheDatabaseInAUsualPlace() async throws {
    let id = try await makeReport(in: "state/postmortem")
    let tool = try BuiltProducts.besideTests("postmortem")
    let environment = [
      "POSTMORTEM_DATABASE": "", "XDG_STATE_HOME": directory.path + "/state",
    ]
    for (words, isFound) in [
      (["list"], true), (["show"], true), (["show", id], true), (["stats"], true),
      (["export"], true), (["process"], false), (["prune"], false), (["delete", id], false),
    ] {
      let child = try await ChildProcess.run(
        tool, words, in: directory.path, environment: environment)
      #expect(child.end.exitCode == (isFound ? 0 : 64), "\(words) \(child)")
      let text = isFound ? "reading \(directory.path)/state/postmortem" : "no database given: use"
      #expect(child.standardError.contains(text), "\(words) \(child)")
    }
  }

  @Test func wrongWordsAreDiagnosed() async throws {
    let id = try await makeReport(in: "db")
    for (words, status, text) in [
      (["show", "/nonexistent"], 1, "/nonexistent: No such file or directory"),
      (["show", "4c67", "5c0a"], 64, "unexpected argument '5c0a': only one report at a time"),
      (["show", "4c67zz"], 1, "no report 4c67zz: it matches no ID, process ID or program"),
      (["inspect", "db/pending/\(id).dmp"], 1, "this is a minidump: postmortem show db/pending/"),
      (["delete", "nonsense"], 64, "'nonsense' is not a report ID"),
      (["delete"], 64, "argument: ID"),
      (["doctor", "a", "b"], 64, "unexpected argument 'b'"),
      (["capture"], 64, "missing argument: PID"), (["stats", "-f"], 64, "unknown option '-f'"),
      (["list", "-json"], 64, "did you mean '--json'?"),
      (["stats", "-f"], 64, "see postmortem watch"),
      (["delete", "--older-than", "7d"], 64, "see postmortem prune --age"),
      (["delete", "--force", "4c67"], 64, "did you mean '--yes'?"),
      (["prune", "--older-than", "7d"], 64, "did you mean '--age'?"),
      (["list", "--newest"], 64, "did you mean '--reverse'?"),
      (["stats", "--html"], 64, "postmortem dashboard"),
    ] as [([String], Int32, String)] {
      let child = try await run(words, variable: database)
      #expect(child.end.exitCode == status, "\(words) \(child)")
      #expect(child.standardError.contains(text), "\(words) \(child)")
    }
    #expect(try await run(["list", "-n1"], variable: database).standardOutput.hasPrefix(id))
    #expect(try await run(["ls", "-q"], variable: database).standardOutput == id + "\n")
    #expect(try await run(["list", "-rq"], variable: database).standardOutput == id + "\n")
    #expect(try await run(["info", id], variable: database).end.exitCode == 0)
    #expect(try await run(["rm", id], variable: database).end.exitCode == 0)
  }
}
