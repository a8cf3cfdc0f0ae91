import CrashTestSupport
import Foundation
import Glibc
import Testing

@testable import PostmortemTool

/// `postmortem doctor -d DIR` finds what a start of the handler would find.
@Suite struct DirectoryDoctorTests {
  private let directory: SharedDirectory
  private var database: String { directory.path + "/db" }

  init() throws {
    directory = try SharedDirectory()
  }

  private func run(_ program: String, _ words: [String]) async throws -> ChildProcess {
    try await ChildProcess.run(
      try BuiltProducts.besideTests(program), words, in: directory.path)
  }

  private func examine() async throws -> DoctorCommand.DirectoryAnswer {
    let child = try await run("postmortem", ["doctor", "-d", database, "--json"])
    let answer = try JSONDecoder().decode(
      DoctorCommand.DirectoryAnswer.self, from: Data(child.standardOutput.utf8))
    #expect(child.end.exitCode == (answer.healthy ? 0 : 1), "\(child)")
    #expect(answer.healthy == answer.problems.isEmpty)
    return answer
  }

  @Test func aDirectoryThatCanBeUsedStaysAsItIs() async throws {
    #expect(try await run("HandlerOnlyVictim", [database, "abort"]).end.signal == SIGABRT)
    let before = directory.names("db/pending-serialized-dumps")
    let answer = try await examine()
    #expect(answer.problems == [] && answer.processes.isEmpty)
    #expect(answer.database == database)
    #expect(directory.names("db/pending-serialized-dumps") == before)
    let text = try await run("postmortem", ["doctor", "-d", database])
    #expect(text.standardOutput.hasPrefix("OK: directory \(database): "), "\(text)")
    // An empty directory, as a volume has it.
    try FileManager.default.removeItem(atPath: database)
    try FileManager.default.createDirectory(atPath: database, withIntermediateDirectories: false)
    #expect(unsafe chmod(database, 0o700) == 0)
    #expect(try await examine().healthy)
    #expect(directory.names("db") == [])
  }

  @Test func aProcessThatUsesTheDirectoryIsListed() async throws {
    let victim = try RunningVictim(
      try BuiltProducts.besideTests("crash-lab"), ["live-dump", "obeying", "--database", database])
    try victim.waitForLine("ready")
    let answer = try await examine()
    #expect(answer.healthy && answer.processes.map(\.pid) == [victim.processID])
  }

  /// The parent's permissions do not say that its file system has no directories of programs.
  @Test func aDirectoryThatCannotBeCreatedIsAProblem() async throws {
    for place in ["/proc/postmortem/db", "/proc/postmortem"] {
      let child = try await run("postmortem", ["doctor", "-d", place, "--json"])
      let answer = try JSONDecoder().decode(
        DoctorCommand.DirectoryAnswer.self, from: Data(child.standardOutput.utf8))
      #expect(!answer.healthy && answer.problems.count == 1 && child.end.exitCode == 1)
    }
  }

  @Test func aMissingDirectoryIsNotCreated() async throws {
    let answer = try await examine()
    #expect(answer.healthy, "\(answer.problems)")
    #expect(directory.names() == [])
  }

  /// A directory for all users, a file, and a link that leads nowhere.
  @Test(arguments: ["mkdir db && chmod 777 db", ": > db", "ln -s nowhere db"])
  func aRefusedDirectoryHasTheErrorOfAStart(_ script: String) async throws {
    #expect(
      try await ChildProcess.run("/bin/sh", ["-c", script], in: directory.path).end.exitCode == 0)
    let start = try await run("HandlerOnlyVictim", [database, "exit"])
    #expect(start.end.signal != nil)
    let answer = try await examine()
    try #require(answer.problems.count == 1)
    #expect(start.standardError.contains(answer.problems[0]), "\(answer)\n\(start.standardError)")
  }

  @Test func aParentThatOtherUsersMayWriteToIsANote() async throws {
    try FileManager.default.createDirectory(
      atPath: directory.path + "/open/db", withIntermediateDirectories: true)
    #expect(unsafe chmod(directory.path + "/open/db", 0o700) == 0)
    #expect(unsafe chmod(directory.path + "/open", 0o777) == 0)
    let child = try await run(
      "postmortem", ["doctor", "-d", directory.path + "/open/db", "--json"])
    let answer = try JSONDecoder().decode(
      DoctorCommand.DirectoryAnswer.self, from: Data(child.standardOutput.utf8))
    #expect(answer.healthy)
    #expect(answer.notes.contains { $0.contains("all users may write to \(directory.path)/open,") })
  }
}
