import CrashCatalogue
import CrashReportDatabase
import CrashTestSupport
import Foundation
import IntermediateDump
import Minidump
import ProcessSnapshot
import Testing

/// Runs crash-lab in a directory of its own.
final class Victim: Sendable {
  /// More threads than the crashing one, so that stopping them is part of every run.
  static let sleepers = 3

  let executable: String
  private let directory = try! TemporaryDirectory()

  init(_ configuration: BuildConfiguration) async throws {
    executable = try await BuiltProducts.shared.executable("crash-lab", configuration)
  }

  init(_ sanitizer: Sanitizer) async throws {
    executable = try await BuiltProducts.shared.executable("crash-lab", sanitizer)
  }

  var database: String { directory.path + "/database" }

  /// The program that Swift's backtracer starts.
  private static var backtracer: String {
    get throws { try Toolchain.path(of: "../libexec/swift/linux/swift-backtrace") }
  }

  /// Makes a directory for one run; a core file lands there.
  func directory(_ name: String) throws -> String { try directory.subdirectory(name) }

  /// Runs crash-lab with any arguments.
  ///
  /// - Parameter backtracer: whether Swift's own is on; nothing that it has started is left then.
  func run(
    _ arguments: [String], in name: String, backtracer: Bool = false,
    coreFile: ChildProcess.CoreFile = .none
  ) async throws -> ChildProcess {
    // Swift's libraries inside a program find the other program beside themselves alone.
    let settings =
      backtracer ? "enable=yes,color=no,swift-backtrace=\(try Self.backtracer)" : "enable=no"
    return try await ChildProcess.run(
      executable, arguments, in: try directory(name), environment: ["SWIFT_BACKTRACE": settings],
      coreFile: coreFile, leadsGroup: backtracer)
  }

  /// Dies without a handler of ours.
  func dieAlone(
    _ kind: String, on place: CrashPlace, options: [String] = [], backtracer: Bool = false,
    coreFile: ChildProcess.CoreFile = .none
  ) async throws -> ChildProcess {
    try await run(
      [kind, "--no-handler", "--on", place.rawValue, "--threads", "\(Victim.sleepers)"] + options,
      in: "alone", backtracer: backtracer, coreFile: coreFile)
  }

  /// Dies with the handler; the run's directory is `handled`.
  func die(
    _ kind: String, on place: CrashPlace, options: [String] = [], backtracer: Bool = false,
    coreFile: ChildProcess.CoreFile = .none
  ) async throws -> ChildProcess {
    try await run(
      [
        kind, "--database", database, "--on", place.rawValue, "--threads", "\(Victim.sleepers)",
      ] + options, in: "handled", backtracer: backtracer, coreFile: coreFile)
  }

  /// The next start: converts what is pending.
  ///
  /// - Parameter storingSymbols: whether names and lines are kept with the report, which takes seconds.
  /// - Returns: the printed lines, one for each dump.
  func process(storingSymbols: Bool = false) async throws -> [String] {
    let child = try await run(
      ["process", "--database", database] + (storingSymbols ? [] : ["--no-symbols"]),
      in: "process")
    try #require(child.end.exitCode == 0, "\(child.standardError)")
    return child.standardOutput.split(separator: "\n").map(String.init)
  }

  func reports() throws -> [StoredReport] {
    try CrashReportDatabase(path: database).reports()
  }

  /// Names of the files in the directory of pending dumps.
  func pendingFiles() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: database + "/pending-serialized-dumps")
      .sorted()
  }

  /// Reads an intermediate dump as the converter would.
  static func snapshot(ofDump path: String) throws -> ProcessSnapshot {
    let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    return ProcessSnapshot(reading: try IntermediateDumpDocument(parsing: [UInt8](bytes)))
  }

  static func snapshot(of report: StoredReport) throws -> ProcessSnapshot {
    let bytes = try Data(contentsOf: URL(fileURLWithPath: report.path))
    return try MinidumpReader.snapshot(of: [UInt8](bytes))
  }
}
