import CrashAnalysis
import CrashConverter
import CrashReport
import CrashReportDatabase
import CrashTestSupport
import Foundation
import Minidump
import PendingDumps
import ProcessSnapshot
import Testing

/// Runs crash-lab, which takes dumps and hangs, in its own directory.
final class LiveVictim {
  let directory = try! TemporaryDirectory()
  let executable: String

  init(_ build: BuildConfiguration = .asTested) async throws {
    executable = try await BuiltProducts.shared.executable("crash-lab", build)
  }

  var database: String { directory.path + "/database" }

  /// Runs crash-lab to its end, with the database as the last argument.
  func run(_ arguments: String...) async throws -> ChildProcess { try await run(arguments) }

  private func run(_ arguments: [String]) async throws -> ChildProcess {
    try await ChildProcess.run(
      executable, arguments + ["--database", database], in: directory.path,
      environment: ["SWIFT_BACKTRACE": "enable=no"])
  }

  /// Runs a command that must succeed, and returns its lines.
  func lines(_ arguments: String...) async throws -> [String] { try await lines(arguments) }

  private func lines(_ arguments: [String]) async throws -> [String] {
    let child = try await run(arguments)
    try #require(
      child.end.exitCode == 0, "\(child.end) \(child.standardOutput)\(child.standardError)")
    return child.standardOutput.split(separator: "\n").map(String.init)
  }

  /// Converts the pending dumps like the next start, and returns one line for each dump.
  func process() async throws -> [String] { try await lines("process", "--no-symbols") }

  /// The number of crashes that the next start would count.
  func recentCrashes() throws -> Int {
    try CrashConverter.recentCrashes(database: database, identifier: "crash-lab").count
  }

  // MARK: - Core files and the tool

  /// The path of a core file that gdb writes of a running victim.
  func core(of running: RunningVictim) async throws -> String {
    try await core(of: running.processID)
  }

  func core(of processID: Int32) async throws -> String {
    let path = directory.path + "/core"
    let run = try await ChildProcess.run(
      "/usr/bin/gcore", ["-o", path, "\(processID)"], in: directory.path)
    try #require(run.end.exitCode == 0, "\(run)")
    return "\(path).\(processID)"
  }

  /// The output of `postmortem show` for a report, a dump or a core file, as JSON and as text.
  static func shown<Shown: Decodable>(
    _ path: String, as type: Shown.Type = Shown.self
  ) async throws -> (Shown, text: String) {
    let json = try await tool("show", "--json", path)
    let text = try await tool("show", path)
    try #require(json.end.exitCode == 0, "\(json)")
    return (
      try JSONDecoder().decode(Shown.self, from: Data(json.standardOutput.utf8)),
      text.standardOutput
    )
  }

  /// Runs the optimized command: without optimization, the stacks of 200 threads take it 15 seconds of processor time.
  static func tool(_ arguments: String...) async throws -> ChildProcess {
    let tool = try await BuiltProducts.shared.executable("postmortem", .release)
    return try await ChildProcess.run(tool, arguments, in: "/tmp")
  }

  /// Starts a command that runs until the test ends it.
  func start(_ arguments: String...) throws -> RunningVictim {
    try RunningVictim(executable, arguments + ["--database", database])
  }

  /// The reports, except those on killed runs, which are not uploaded.
  func reports() throws -> [StoredReport] {
    try CrashReportDatabase(path: database).reports().filter { $0.state == .pending }
  }

  func snapshot(of report: StoredReport) throws -> ProcessSnapshot {
    let bytes = try Data(contentsOf: URL(fileURLWithPath: report.path))
    return try MinidumpReader.snapshot(of: [UInt8](bytes))
  }

  /// The only report, as it is shown to a person.
  func onlyReport() throws -> CrashReport {
    let reports = try reports()
    try #require(reports.count == 1)
    return CrashReport(snapshot: try snapshot(of: reports[0]), symbolicating: true)
  }

  /// Names of the files in the directory of pending dumps.
  func pendingFiles() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: database + "/pending-serialized-dumps")
      .sorted()
  }

  /// Waits until a pending file's name has a suffix.
  func waitForFile(endingIn suffix: String) async throws -> String {
    for _ in 0..<1200 {
      if let name = try? pendingFiles().first(where: { $0.hasSuffix(suffix) }) { return name }
      try await Task.sleep(for: .milliseconds(50))
    }
    throw Missing(description: "no file that ends in \(suffix)")
  }

  /// The run record of the running process; the handler makes it at its start.
  func runRecord() throws -> RunRecord {
    let names = try pendingFiles().filter { $0.hasSuffix(".run") }
    let records = names.compactMap {
      FileManager.default.contents(atPath: database + "/pending-serialized-dumps/" + $0)
    }.compactMap { RunRecord(bytes: [UInt8]($0)) }
    guard let record = records.first else { throw Missing(description: "no run record") }
    return record
  }

  /// Waits until a run record has a heartbeat that is later than this call, and returns the record's evidence.
  func waitForHeartbeat() async throws -> RunEvidence {
    let now = Int64(Date().timeIntervalSince1970 * 1e9)
    for _ in 0..<1200 {
      for name in try pendingFiles() where name.hasSuffix(".run") {
        let path = database + "/pending-serialized-dumps/" + name
        let bytes = FileManager.default.contents(atPath: path).map { [UInt8]($0) }
        if let heartbeat = bytes.flatMap(RunRecord.init(bytes:))?.course?.heartbeat,
          heartbeat.time > now
        {
          return heartbeat
        }
      }
      try await Task.sleep(for: .milliseconds(50))
    }
    throw Missing(description: "no heartbeat")
  }

  struct Missing: Error, CustomStringConvertible { let description: String }
}
