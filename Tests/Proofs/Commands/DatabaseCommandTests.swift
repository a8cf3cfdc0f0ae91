import CrashReportDatabase
import CrashTestSupport
import Foundation
import Glibc
import IntermediateDump
import Minidump
import PendingDumps
import ProcessSnapshot
import Testing

/// Runs the built `postmortem` on databases with dumps of real crashes.
@Suite struct DatabaseCommandTests {
  private let directory: SharedDirectory
  private var database: String { directory.path + "/db" }

  init() throws {
    directory = try SharedDirectory()
  }

  private func run(_ words: String...) async throws -> ChildProcess {
    try await ChildProcess.run(
      try BuiltProducts.besideTests("postmortem"), words, in: directory.path)
  }

  /// Leaves a number of dumps of real crashes.
  private func crash(_ count: Int = 1) async throws {
    for _ in 0..<count {
      let child = try await ChildProcess.run(
        try BuiltProducts.besideTests("HandlerOnlyVictim"), [database, "abort"], in: directory.path,
        environment: ["SWIFT_BACKTRACE": "enable=no"])
      try #require(child.end.signal == SIGABRT)
    }
  }

  private func reports() async throws -> [ToolReply.Listed] {
    let list = try await run("list", database, "--json")
    return try JSONDecoder().decode(
      [ToolReply.Listed].self, from: Data(list.standardOutput.utf8)
    ).filter { $0.state == "report" }
  }

  private func statistics() async throws -> ToolReply.Statistics {
    let child = try await run("stats", database, "--json")
    #expect(child.end.exitCode == 0, "\(child.standardError)")
    return try JSONDecoder().decode(
      ToolReply.Statistics.self, from: Data(child.standardOutput.utf8))
  }

  @Test func processTellsWhatBecameOfEachDumpInJSON() async throws {
    try await crash(2)
    try directory.put(
      [1, 2, 3], "db/pending-serialized-dumps/bad@\(UUID().uuidString.lowercased())")
    let child = try await run("process", database, "--json")
    #expect(child.end.exitCode == 1)
    #expect(child.standardError.contains("1 of 3 dumps could not be processed"))
    let entries = try JSONDecoder().decode(
      [ToolReply.Processed].self, from: Data(child.standardOutput.utf8))
    #expect(entries.map(\.outcome).sorted() == ["complete", "complete", "failed"])
    #expect(entries.filter { $0.outcome == "complete" }.allSatisfy { $0.reason == nil })
    #expect(entries.first { $0.isFailure }?.reason?.isEmpty == false)
    let listed = try await reports().map(\.reportID)
    #expect(Set(listed) == Set(entries.filter { !$0.isFailure }.map(\.reportID)))
    let third = try await run("process", database)
    #expect(third.end.exitCode == 1)
    let last = try await run("process", database)
    #expect(last.standardOutput.contains("moved to quarantine"))
    #expect(try await run("process", database).end.exitCode == 0)
    #expect(try await statistics().quarantine == ToolReply.Amount(count: 1, bytes: 3))
    // The list has only records in a pipe, so the dump in quarantine is not in it.
    let text = try await run("list", database).standardOutput
    #expect(text.split(separator: "\n").count == 2, "\(text)")
  }

  /// Adds a report on a run that ended without a dump, newer than all others.
  private func addEnd(in database: CrashReportDatabase) throws {
    var snapshot = ProcessSnapshot(architecture: .x86_64)
    let id = ReportID()
    snapshot.reportID = id
    snapshot.end = RunEnd()
    snapshot.end?.kind = .unexplained
    snapshot.process.crashTime = 4_000_000_000_000_000_000
    let report = try database.prepareNewReport(id)
    try MinidumpWriter.write(snapshot, to: report.descriptor)
    try report.finish()
  }

  /// The end of the run and the signal in the JSON of `show`.
  private struct Shown: Decodable {
    struct End: Decodable { let kind: String? }
    struct Exception: Decodable { let signal: Int? }
    let end: End?
    let exception: Exception?
  }

  private func shown() async throws -> Shown {
    let child = try await run("show", database, "--json")
    return try JSONDecoder().decode(Shown.self, from: Data(child.standardOutput.utf8))
  }

  @Test(arguments: [true, false])
  func withoutAnIDTheNewestCrashIsShownThoughALaterEndIsNewer(hasIndex: Bool) async throws {
    let reports = try CrashReportDatabase(path: database)
    try addEnd(in: reports)
    #expect(try await shown().end?.kind == "unexplained", "the only one")
    try await crash()
    #expect(try await run("process", database).end.exitCode == 0)
    if hasIndex { _ = try await run("list", database) }
    if !hasIndex { try FileManager.default.removeItem(atPath: database + "/reports.index") }
    let found = try await shown()
    #expect(found.end == nil && found.exception?.signal == Int(SIGABRT))
  }

  @Test func processSaysWhatItLeavesAndUntilWhen() async throws {
    try await crash(2)
    let pending = database + "/pending-serialized-dumps"
    let names = directory.names("db/pending-serialized-dumps").filter { !$0.contains(".") }
    try #require(names.count == 2)
    // One dump is claimed by a process on another machine or in another namespace, the other one by this process.
    let stat = try KernelFile.text("/proc/\(getpid())/stat")
    let start = try #require(
      stat.split(separator: ")").last?.split(separator: " ").dropFirst(19).first)
    let place = HostIdentity.current().place
    let claims = ["1-4242-1-1", "1-\(getpid())-\(start)-\(String(place, radix: 16))"]
    for (name, claim) in zip(names, claims) {
      try FileManager.default.moveItem(
        atPath: "\(pending)/\(name)", toPath: "\(pending)/\(name).\(claim).claimed")
    }
    let child = try await run("process", database, "--json")
    #expect(child.end.exitCode == 2)
    #expect(child.standardError.contains("2 of 2 dumps were left for later"))
    let entries = try JSONDecoder().decode(
      [ToolReply.Processed].self, from: Data(child.standardOutput.utf8))
    #expect(entries.map(\.outcome) == ["left", "left"])
    let unseen = try #require(entries.first { names[0].contains($0.reportID) })
    #expect(unseen.reason == "claimed by a process that cannot be seen from here")
    #expect(unseen.until?.wholeMatch(of: /[0-9]{4}-.*Z/) != nil)
    let seen = try #require(entries.first { names[1].contains($0.reportID) })
    #expect(seen.reason == "converter \(getpid()) is working on it" && seen.until == nil)
    let text = try await run("process", database)
    #expect(text.end.exitCode == 2)
    #expect(
      text.standardOutput.contains(
        "left for now, until \(unseen.until?.prefix(13) ?? "?")"))
    // The run records and FIFOs of the dumps' owners are left, too.
    let left = directory.names("db/pending-serialized-dumps")
    #expect(left.count { $0.hasSuffix(".claimed") } == 2 && left.count == 6, "\(left)")
  }

  @Test func statsCountsWhatIsThereAndChangesNothing() async throws {
    try await crash(2)
    let before = try await statistics()
    #expect(before.dumps.waiting.count == 2 && before.dumps.waiting.bytes > 10_000)
    #expect(
      before.reports == ToolReply.Statistics.Reports() && before.clientID == nil
        && !before.uploadsEnabled)
    #expect(directory.names("db") == ["pending-serialized-dumps"])
    _ = try await run("process", database)
    let after = try await statistics()
    #expect(after.dumps.waiting == ToolReply.Amount())
    #expect(after.reports.pending.count == 2 && after.reports.skipped.count == 0)
    #expect(after.clientID?.count == 36)
    #expect(after.oldestReport != nil && after.newestReport != nil)
    let text = try await run("stats", database).standardOutput
    #expect(text.contains("reports, pending    2 ("))
    #expect(text.contains("uploads             disabled"))
  }

  @Test(arguments: [0, 3, 40, 41])
  func statsLeavesDamagedSettingsAsTheyAre(count: Int) async throws {
    try await crash()
    _ = try await run("process", database)
    let damaged = [UInt8](repeating: 7, count: count)
    try directory.put(damaged, "db/settings.dat")
    let statistics = try await statistics()
    #expect(statistics.clientID == nil && !statistics.uploadsEnabled)
    #expect(directory.bytes("db/settings.dat") == damaged)
  }

  @Test func listTellsTheCrashesAndCountsTheDumpsThatWait() async throws {
    try await crash(2)
    let first = try await run("list", database)
    #expect(first.end.exitCode == 0, "\(first.standardError)")
    let waiting = first.standardOutput.split(separator: "\n")
    #expect(waiting.count == 2, "\(first)")
    #expect(waiting.allSatisfy { $0.contains("  waiting  2") && $0.contains("  SIGABRT   ") })
    #expect(directory.names("db") == ["pending-serialized-dumps"])
    _ = try await run("process", database)
    let entries = try await reports()
    #expect(entries.map(\.signal) == ["SIGABRT", "SIGABRT"])
    #expect(entries.allSatisfy { $0.program == "handler only" && $0.cause != nil })
    let times = entries.compactMap(\.time)
    try #require(times.count == 2)
    #expect(times[0] <= times[1])
    #expect(times.allSatisfy { $0.duration(to: entries[0].creationTime) < .seconds(600) })
    let text = try await run("list", database).standardOutput
    let lines = text.split(separator: "\n")
    #expect(zip(lines, entries).allSatisfy { $0.hasPrefix("\($1.reportID)  report   ") })
    #expect(lines.allSatisfy { $0.contains(" UTC  SIGABRT   handler only") }, "\(text)")
    #expect(
      try await run("list", database, "--reverse", "-n", "1").standardOutput == lines[1] + "\n")
    for words in [["--since", "1h"], ["--program", "handler only"]] {
      #expect(try await run("list", database, words[0], words[1]).standardOutput == text)
    }
    for words in [["--since", "2999-01-01"], ["--program", "other"], ["-n", "0"]] {
      #expect(try await run("list", database, words[0], words[1]).standardOutput == "")
    }
    for words in [["--since", "whenever"], ["-n", "-1"], ["--since", "2026-13-01"]] {
      #expect(try await run("list", database, words[0], words[1]).end.exitCode == 64)
    }
  }

  /// The index is a cache: without it, or with invalid bytes in it, the output is the same.
  @Test func withoutAnIndexReportsAreReadAgain() async throws {
    try await crash(2)
    _ = try await run("process", database)
    let index = database + "/reports.index"
    let groups = try await run("list", database, "--group").standardOutput
    #expect(groups.contains("    2  handler only: SIGABRT"))
    // On a busy machine, the conversion may have had no time to look up lines; a reader has enough.
    func withoutLines(_ text: String) -> [Substring?] {
      text.split(separator: "\n").map { $0.split(separator: "()").first }
    }
    let converted = try await run("list", database).standardOutput
    unsafe unlink(index)
    let text = try await run("list", database).standardOutput
    #expect(withoutLines(text) == withoutLines(converted))
    for bytes in [nil, [], Array("garbage".utf8)] as [[UInt8]?] {
      if let bytes {
        try directory.put(bytes, "db/reports.index")
      } else {
        _ = unsafe unlink(index)
      }
      let child = try await run("list", database)
      #expect(child.standardOutput == text, "\(child.standardError)")
      // The records include names: a converter on a busy machine may have skipped them, a reader does not.
      #expect((directory.bytes("db/reports.index")?.count ?? 0) > 200)
      #expect(try await run("list", database, "--group").standardOutput == groups)
    }
    let entry = try #require(try await reports().first)
    try directory.put(Array("no minidump".utf8), "db/pending/\(entry.reportID).dmp")
    let child = try await run("list", database)
    #expect(child.end.exitCode == 0 && child.standardOutput.contains("unreadable"))
    #expect(child.standardOutput.split(separator: "\n").count == 2)
    #expect(try await run("list", database, "--group").end.exitCode == 1)
  }

  @Test func showTakesTheNewestOrABeginningOfAnID() async throws {
    func show(_ words: String..., database: String? = nil) async throws -> ChildProcess {
      try await ChildProcess.run(
        try BuiltProducts.besideTests("postmortem"), ["show"] + words, in: directory.path,
        environment: database.map { ["POSTMORTEM_DATABASE": $0] } ?? [:])
    }
    try await crash()
    let early = try await show(database)
    // `show` reads the unconverted dump.
    #expect(early.end.exitCode == 0 && early.standardOutput.contains("SIGABRT"), "\(early)")
    #expect(
      early.standardError.contains("not a report yet; postmortem process \(database) converts"))
    let processed = try await run("process", database)
    try await crash()
    _ = try await run("process", database)
    let ids = try await reports().map(\.reportID)
    try #require(ids.count == 2)
    // The line that the conversion prints ends with the next command.
    #expect(processed.standardOutput.contains(": SIG"))
    let next = "; postmortem show \(database) \(ids[0].prefix(8))\n"
    #expect(processed.standardOutput.hasSuffix(next))
    for child in [
      try await show(database), try await show(database: database),
      try await show(database, String(ids[1].prefix(9))),
      try await show(String(ids[1].prefix(9)), database: database),
      try await show(ids[1], "--database", database),
      try await show("--database=\(database)"),
    ] {
      #expect(child.end.exitCode == 0, "\(child.standardError)")
      #expect(child.standardOutput.contains(ids[1]) && !child.standardOutput.contains(ids[0]))
    }
    #expect(try await show(database, ids[0].uppercased()).standardOutput.contains(ids[0]))
    let unknown = ids[0].hasPrefix("f") || ids[1].hasPrefix("f") ? "0123" : "ffff"
    let none = try await show(database, unknown)
    #expect(none.end.exitCode == 1 && none.standardError.contains("no report \(unknown)"))
    let shared = try await show(database, "")
    #expect(shared.end.exitCode == 64)
    // The word is no ID, but may name a program.
    #expect(try await show(database, "xyz").end.exitCode == 1)
    #expect(
      try await show(ids[0]).standardError.contains("use --database DIR, or set POSTMORTEM"))
    #expect(try await show(database, ids[0], "x").end.exitCode == 64)
    let list = try await ChildProcess.run(
      try BuiltProducts.besideTests("postmortem"), ["list"], in: directory.path,
      environment: ["POSTMORTEM_DATABASE": database])
    #expect(list.standardOutput.split(separator: "\n").count == 2)
    let delete = try await ChildProcess.run(
      try BuiltProducts.besideTests("postmortem"), ["delete", String(ids[0].prefix(10))],
      in: directory.path, environment: ["POSTMORTEM_DATABASE": database])
    #expect(delete.end.exitCode == 0, "\(delete.standardError)")
    #expect(try await reports().map(\.reportID) == [ids[1]])
  }

  @Test func deleteTakesAllOrNothing() async throws {
    try await crash(3)
    _ = try await run("process", database)
    let ids = try await reports().map(\.reportID)
    let unknown = UUID().uuidString.lowercased()
    let refused = try await run("delete", database, ids[0], unknown)
    #expect(refused.end.exitCode == 1)
    #expect(
      refused.standardError.contains(
        "no report \(unknown): see postmortem list \(database); nothing was deleted"))
    #expect(try await reports().map(\.reportID) == ids)
    #expect(try await run("delete", database, "../../etc/passwd").end.exitCode == 64)
    #expect(try await run("delete", database).end.exitCode == 64)
    #expect(try await run("delete", database, ids[0], ids[2], ids[0]).end.exitCode == 0)
    #expect(try await reports().map(\.reportID) == [ids[1]])
    #expect(directory.names("db/pending") == ["\(ids[1]).dmp", "\(ids[1]).meta"])
  }

  @Test func pruneSaysWhatGoes() async throws {
    try await crash(3)
    _ = try await run("process", database)
    let entries = try await reports()
    let dry = try await run("prune", database, "--size", "0", "--dry-run", "--json")
    let excess = try JSONDecoder().decode(
      [ToolReply.Listed].self, from: Data(dry.standardOutput.utf8))
    #expect(excess.count == 2)
    #expect(try await reports().count == 3)
    #expect(try await run("prune", database).standardOutput.isEmpty)
    let pruned = try await run("prune", database, "--size=0")
    #expect(pruned.end.exitCode == 0)
    #expect(pruned.standardOutput.split(separator: "\n").count == 2)
    let left = try await reports().map(\.reportID)
    #expect(left.count == 1 && !excess.map(\.reportID).contains(left[0]))
    #expect(entries.map(\.reportID).contains(left[0]))
    for words in [["--age", "x"], ["--age", "-1"], ["--size", "1e3"], ["--size"]] {
      let child = try await ChildProcess.run(
        try BuiltProducts.besideTests("postmortem"), ["prune", database] + words, in: directory.path
      )
      #expect(child.end.exitCode == 64, "\(words)")
      #expect(child.standardError.contains(words[0]))
    }
  }

  @Test func watchProcessesACrashWhenItComes() async throws {
    try await crash()
    // watch runs while the crashes wait for their turns, after the children of all other tests; hence the long
    // patience.
    async let watch = ChildProcess.run(
      try BuiltProducts.besideTests("postmortem"), ["watch", database, "--count", "3", "--json"],
      in: directory.path, patience: 1200)
    // These two crashes are reported whether watch has started before them or not.
    try await crash(2)
    let child = try await watch
    #expect(child.end.exitCode == 0, "\(child.standardError)")
    let lines = child.standardOutput.split(separator: "\n")
    let entries = try lines.map {
      try JSONDecoder().decode(ToolReply.Processed.self, from: Data($0.utf8))
    }
    #expect(entries.map(\.outcome) == ["complete", "complete", "complete"])
    #expect(try await reports().count == 3)
  }

  @Test(arguments: [SIGINT, SIGTERM])
  func watchEndsWithASignal(signal: Int32) async throws {
    try await crash()
    // The shell sends the signal once the first report exists, and prints how watch ended.
    let script = """
      "$1" watch "$2" > "$2/out" & until [ -s "$2/out" ]; do sleep 0.05; done
      kill -\(signal) $!; wait $!
      """
    let child = try await ChildProcess.run(
      "/bin/bash",
      ["-c", script, "sh", try BuiltProducts.besideTests("postmortem"), database],
      in: directory.path)
    #expect(child.end.exitCode == 0, "\(child.standardError)")
  }

  @Test(arguments: ["list", "process", "prune", "stats", "watch", "delete"])
  func aDirectoryThatIsNoDatabaseIsNotMadeOne(command: String) async throws {
    let operand = UUID().uuidString
    for path in ["\(directory.path)/missing", "/dev/null"] {
      let words = [command, path] + (command == "delete" ? [operand] : [])
      let child = try await ChildProcess.run(
        try BuiltProducts.besideTests("postmortem"), words, in: directory.path)
      #expect(child.end.exitCode == 1)
      let reason = path == "/dev/null" ? "Not a directory" : "no such directory"
      #expect(child.standardError.contains("\(path): \(reason)"), "\(child.standardError)")
    }
    #expect(directory.names() == [])
  }

  @Test(arguments: ["process", "watch"])
  func aDirectoryWithOtherFilesIsMadeADatabaseOnlyIfThatIsMeant(command: String) async throws {
    try FileManager.default.createDirectory(
      atPath: directory.path + "/home/pending", withIntermediateDirectories: true)
    let path = directory.path + "/home"
    let child = try await run(command, path)
    #expect(child.end.exitCode == 1)
    #expect(child.standardError.contains("neither dumps nor reports; use --create"))
    #expect(directory.names("home") == ["pending"])
    guard command == "process" else { return }
    #expect(try await run(command, path, "--create").end.exitCode == 0)
    #expect(directory.names("home").contains("pending-serialized-dumps"))
    let new = directory.path + "/new"
    #expect(try await run(command, new, "--create").end.exitCode == 0)
    #expect(directory.names("new").contains("pending-serialized-dumps"))
    let deep = try await run(command, directory.path + "/missing/new", "--create")
    #expect(deep.end.exitCode == 1)
    #expect(deep.standardError.contains("/missing/new: cannot be created: No such file"))
  }
}
