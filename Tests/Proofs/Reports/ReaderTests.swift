import CrashCatalogue
import CrashConverter
import CrashReportDatabase
import CrashTestSupport
import Foundation
import IntermediateDump
import PendingDumps
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
    let shown = kinds.enumerated().filter {
      ProofExtent.isFullOfReports || $0.offset.isMultiple(of: 4)
    }
    return shown.map { [$0.element.kind] } + [
      ["uncaught-error", "--throws"], ["null-read", "--privacy", "sanitized"],
      ["fatal-error", "--privacy", "no-memory"],
      ["fatal-error"], ["double-free", "--on", "dispatch"],
      ["hang", "heartbeat", "idle", "kept"], ["hang", "main", "busy", "kept"],
      ["locks", "mutex-2", "dumps"],
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
    // Foundation would open and read the FIFOs of the dumps.
    let copying = try await ChildProcess.run(
      "/bin/cp", ["-a", database, copy], in: directory.path)
    try #require(copying.end.exitCode == 0, "\(copying.standardError)")
    for (program, words) in [
      (victim, ["process", "--database", database]), (tool, ["process", copy]),
    ] {
      let child = try await ChildProcess.run(
        program, words, in: directory.path, environment: quiet)
      try #require(child.end.exitCode == 0, "\(child.standardError)")
    }
    try await expectOneVerdict([database, database, copy], tool, in: directory.path)
  }

  /// The reports of the same IDs in several databases.
  private func expectOneVerdict(
    _ databases: [String], _ tool: String, in directory: String
  ) async throws {
    let list = try await ChildProcess.run(
      tool, ["list", databases[0], "--quiet"], in: directory)
    let ids = list.standardOutput.split(separator: "\n").map(String.init)
    try #require(!ids.isEmpty, "no report")
    var expected: [String: ReportReaders.Facts] = [:]
    for path in databases {
      let readers = try await ReportReaders(of: path, tool: tool, in: directory)
      for id in ids {
        let facts = try await readers.shown(id)
        let first = expected[id] ?? facts
        expected[id] = first
        let disagreements = try await readers.disagreements(on: id, with: first)
        #expect(disagreements == [], "\(path)")
      }
    }
  }

  /// The report of a core file says what `show` says about the core file itself.
  @Test(arguments: ["fatal-error", "double-free", "cxx-exception"])
  func aCoreFileAndItsReportGiveOneVerdict(_ kind: String) async throws {
    if let obstacle = CoreFile.obstacle, !OutsideTool.mustBeThere {
      print("\(kind): no core file: \(obstacle)")
      return
    }
    let directory = try TemporaryDirectory()
    let tool = try BuiltProducts.besideTests("postmortem")
    let cores = directory.path + "/cores"
    try FileManager.default.createDirectory(atPath: cores, withIntermediateDirectories: true)
    _ = try await ChildProcess.run(
      try BuiltProducts.besideTests("crash-lab"), [kind, "--no-handler"], in: cores,
      environment: ["SWIFT_BACKTRACE": "enable=no"], coreFile: .allowed)
    let core = try CoreFile.path(in: cores)
    let databases = ["first", "second"].map { "\(directory.path)/\($0)" }
    for database in databases {
      _ = try CrashReportDatabase(path: database)
      let child = try await ChildProcess.run(
        tool, ["process", database, "--cores", cores], in: directory.path)
      try #require(child.end.exitCode == 0, "\(child.standardError)")
    }
    try await expectOneVerdict(databases, tool, in: directory.path)
    let list = try await ChildProcess.run(
      tool, ["list", databases[0], "--quiet"], in: directory.path)
    let readers = try await ReportReaders(of: databases[0], tool: tool, in: directory.path)
    let id = list.standardOutput.filter { !$0.isWhitespace }
    #expect(try await readers.shown(id) == readers.shown(file: core))
  }

  /// Dumps of extreme processes, with texts that lists shorten and terminals must not receive.
  @Test func dumpsOfExtremeProcessesGiveOneVerdict() async throws {
    let directory = try TemporaryDirectory()
    let tool = try BuiltProducts.besideTests("postmortem")
    let writer = try BuiltProducts.besideTests("ExtremeDumps")
    let (database, copy) = (directory.path + "/program", directory.path + "/tool")
    _ = try CrashReportDatabase(path: database)
    let pending = database + "/" + PendingDumpName.directory
    try FileManager.default.createDirectory(
      atPath: pending, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    for seed in 0..<(ProofExtent.isFullOfReports ? 1000 : 30) where seed % 10 < 3 {
      let path = "\(pending)/app@\(ReportID())"
      let child = try await ChildProcess.run(
        writer, ["--write", "\(seed)", path, directory.path, "0", "0"], in: directory.path)
      try #require(child.end.exitCode == 0, "\(child.standardError)")
    }
    try FileManager.default.copyItem(atPath: database, toPath: copy)
    let processed = try processIntermediateDumps(database: database)
    #expect(processed.contains { $0.outcome.kind == .complete })
    let child = try await ChildProcess.run(tool, ["process", copy], in: directory.path)
    #expect(child.end.exitCode != nil, "\(child.standardError)")
    try await expectOneVerdict([database, database, copy], tool, in: directory.path)
  }
}
