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
  /// The number of additional threads, so that each run also stops other threads.
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

  /// The path of the program that Swift's backtracer starts.
  private static var backtracer: String {
    get throws { try Toolchain.path(of: "../libexec/swift/linux/swift-backtrace") }
  }

  /// Makes the directory for one run; a core file is written there.
  func directory(_ name: String) throws -> String { try directory.subdirectory(name) }

  /// Runs crash-lab with any arguments.
  ///
  /// - Parameter backtracer: true to turn on Swift's own backtracer; then no process that it started is left at
  ///   the end.
  func run(
    _ arguments: [String], in name: String, backtracer: Bool = false,
    coreFile: ChildProcess.CoreFile = .none
  ) async throws -> ChildProcess {
    // Swift's libraries that are linked statically look for the backtracer's program only next to the program
    // itself.
    let settings =
      backtracer ? "enable=yes,color=no,swift-backtrace=\(try Self.backtracer)" : "enable=no"
    return try await ChildProcess.run(
      executable, arguments, in: try directory(name), environment: ["SWIFT_BACKTRACE": settings],
      coreFile: coreFile, leadsGroup: backtracer)
  }

  /// Crashes without our handler.
  func dieAlone(
    _ kind: String, on place: CrashPlace, options: [String] = [], backtracer: Bool = false,
    coreFile: ChildProcess.CoreFile = .none
  ) async throws -> ChildProcess {
    try await run(
      [kind, "--no-handler", "--on", place.rawValue, "--threads", "\(Victim.sleepers)"] + options,
      in: "alone", backtracer: backtracer, coreFile: coreFile)
  }

  /// Crashes with the handler; the run's directory is `handled`.
  func die(
    _ kind: String, on place: CrashPlace, options: [String] = [], backtracer: Bool = false,
    coreFile: ChildProcess.CoreFile = .none
  ) async throws -> ChildProcess {
    try await run(
      [
        kind, "--database", database, "--on", place.rawValue, "--threads", "\(Victim.sleepers)",
      ] + options, in: "handled", backtracer: backtracer, coreFile: coreFile)
  }

  /// Converts the pending dumps, like the next start.
  ///
  /// - Parameter storingSymbols: true to store function names and lines with the report, which takes seconds.
  ///
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
