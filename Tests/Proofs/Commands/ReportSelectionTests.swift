import CrashTestSupport
import Foundation
import Testing

/// What `show` accepts: the start of an ID, a process ID, a program, `latest`, and a dump that is not converted
/// yet.
@Suite struct ReportSelectionTests {
  private let directory: SharedDirectory
  private var database: String { directory.path + "/db" }

  init() throws {
    directory = try SharedDirectory()
  }

  private struct Shown: Decodable {
    let reportID: String
  }

  private func run(_ words: String...) async throws -> ChildProcess {
    try await ChildProcess.run(
      try BuiltProducts.besideTests("postmortem"), words, in: directory.path,
      environment: ["POSTMORTEM_DATABASE": database])
  }

  /// Leaves the dump of a program with a given name; returns its process ID.
  private func crash(_ program: String) async throws -> String {
    let path = directory.path + "/" + program
    if !FileManager.default.fileExists(atPath: path) {
      try Spawn.copyProgram(try BuiltProducts.besideTests("crash-lab"), to: path)
    }
    let child = try await ChildProcess.run(
      path, ["abort", "--database", database], in: directory.path,
      environment: ["SWIFT_BACKTRACE": "enable=no"])
    try #require(child.end.signal == SIGABRT, "\(child)")
    return "\(child.processID)"
  }

  private func shown(_ words: String...) async throws -> String {
    let child = try await ChildProcess.run(
      try BuiltProducts.besideTests("postmortem"), ["show", "--json", "--no-symbols"] + words,
      in: directory.path, environment: ["POSTMORTEM_DATABASE": database])
    try #require(child.end.exitCode == 0, "\(words) \(child)")
    return try JSONDecoder().decode(Shown.self, from: Data(child.standardOutput.utf8)).reportID
  }

  /// Every file of the database with its bytes.
  private func contents() throws -> [String: Data] {
    var contents: [String: Data] = [:]
    for name in try FileManager.default.subpathsOfDirectory(atPath: database) {
      contents[name] = FileManager.default.contents(atPath: database + "/" + name) ?? Data()
    }
    return contents
  }

  @Test func reportsAreFoundByProgramAndProcess() async throws {
    let first = try await crash("web")
    let second = try await crash("worker")
    let third = try await crash("web")
    _ = try await run("process")
    let list = try await run("list", "--json")
    let entries = try JSONDecoder().decode(
      [ToolReply.Listed].self, from: Data(list.standardOutput.utf8))
    try #require(entries.compactMap(\.pid).map(String.init) == [first, second, third], "\(list)")
    #expect(entries.map(\.program) == ["web", "worker", "web"])
    let ids = entries.map(\.reportID)
    #expect(try await shown("worker") == ids[1])
    #expect(try await shown("--program", "worker") == ids[1])
    #expect(try await shown("web") == ids[2])
    #expect(try await shown("latest") == ids[2])
    #expect(try await shown("--pid", first) == ids[0])
    // A process ID, as with coredumpctl; eight characters of an ID are never a process ID.
    #expect(try await shown(second) == ids[1])
    #expect(try await shown(String(ids[0].prefix(8))) == ids[0])
    let none = try await run("show", "--program", "worker", "--pid", first)
    #expect(none.end.exitCode == 1 && none.standardError.contains("no such report"), "\(none)")
    let listed = try await run("list", "-q", "--pid", first)
    #expect(listed.standardOutput == ids[0] + "\n")
    let byProgram = try await run("list", "-q", "--program", "worker")
    #expect(byProgram.standardOutput == ids[1] + "\n")
    // Without the index, `show` reads the reports, and does not create the index.
    try FileManager.default.removeItem(atPath: database + "/reports.index")
    #expect(try await shown(second) == ids[1])
    #expect(!FileManager.default.fileExists(atPath: database + "/reports.index"))
  }

  /// crash-lab's product name differs from its file name.
  @Test func listAndShowKnowAProgramByItsFileToo() async throws {
    _ = try await crash("web")
    _ = try await crash("crash-lab")
    _ = try await run("process")
    let id = try await shown("crash-lab")
    for name in ["crash-lab", "CrashLab"] {
      let listed = try await run("list", "-q", "--program", name)
      #expect(listed.standardOutput == id + "\n", "\(name) \(listed)")
      #expect(try await shown("--program", name) == id)
    }
  }

  /// A program's name may look like the start of an ID.
  @Test func aWordOfTwoMeaningsIsNotGuessed() async throws {
    _ = try await crash("web")
    _ = try await run("process")
    let id = try #require(
      directory.names("db/pending").first { $0.hasSuffix(".dmp") }.map { String($0.dropLast(4)) })
    let name = String(id.prefix(3))
    _ = try await crash(name)
    let child = try await run("show", name)
    #expect(child.end.exitCode == 1, "\(child)")
    #expect(child.standardError.contains("use the ID \(id) or --program \(name)"), "\(child)")
    #expect(try await shown("--program", name) != id)
    #expect(try await shown(String(id.prefix(8))) == id)
  }

  @Test func theNewestDumpIsShownBeforeItIsAReport() async throws {
    _ = try await crash("web")
    _ = try await run("process")
    let old = try await shown()
    let process = try await crash("worker")
    let before = try contents()
    let dump = try #require(
      directory.names("db/pending-serialized-dumps").first { !$0.contains(".") })
    let id = try #require(dump.split(separator: "@").last.map(String.init))
    let newest = try await run("show", "--no-symbols")
    #expect(newest.standardOutput.contains(id), "\(newest)")
    #expect(
      newest.standardError
        == "postmortem: this dump is not a report yet; postmortem process converts it: \(dump)\n")
    // The dump of a hang whose process was killed has this name.
    let path = directory.path + "/db/pending-serialized-dumps/" + dump
    #expect(unsafe rename(path, path + ".hang") == 0)
    #expect(try await shown().contains(id))
    #expect(unsafe rename(path + ".hang", path) == 0)
    for word in ["worker", process, id] { #expect(try await shown(word) == id) }
    #expect(try await shown(String(id.prefix(8))) == id)
    #expect(try await shown("web") == old)
    // `show` claims and changes nothing.
    #expect(try contents() == before)
    _ = try await run("process")
    let report = try await run("show", "--no-symbols")
    #expect(report.standardOutput.contains(id) && report.standardError == "", "\(report)")
  }

  @Test func aDamagedDumpIsNotInTheWay() async throws {
    _ = try await crash("web")
    _ = try await run("process")
    let id = try await shown()
    let other = UUID().uuidString.lowercased()
    try directory.put([1, 2, 3], "db/pending-serialized-dumps/web@" + other)
    #expect(try await shown() == id)
    #expect(try await run("show", other).end.exitCode == 1)
  }
}
