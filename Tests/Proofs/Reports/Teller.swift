import CrashAnalysis
import CrashReportDatabase
import CrashTestSupport
import Foundation
import Minidump
import ProcessSnapshot
import Testing

/// Runs crash-lab, which sets annotations and other values, in its own directory.
final class Teller: Sendable {
  let directory = try! TemporaryDirectory()
  private let executable: String

  init() async throws {
    executable = try await BuiltProducts.shared.executable("crash-lab", .asTested)
    try write("app.log", Data("what the log says\n".utf8))
  }

  var database: String { directory.path + "/database" }

  func write(_ name: String, _ data: Data) throws {
    _ = try directory.subdirectory("files/second")
    try data.write(to: URL(fileURLWithPath: "\(directory.path)/files/\(name)"))
  }

  @discardableResult
  func run(_ scene: String) async throws -> ChildProcess {
    try await ChildProcess.run(
      executable, ["tell", scene, database, directory.path + "/files"], in: directory.path,
      environment: ["SWIFT_BACKTRACE": "enable=no"])
  }

  /// Converts the pending dumps like the next start.
  ///
  /// - Parameter stream: what its source of user streams does.
  @discardableResult
  func process(_ stream: String = "none") async throws -> ChildProcess {
    let child = try await ChildProcess.run(
      executable, ["tell", "process", database, stream], in: directory.path,
      environment: ["SWIFT_BACKTRACE": "enable=no"])
    try #require(child.end.exitCode == 0, "\(child.standardOutput)\(child.standardError)")
    return child
  }

  var stored: [StoredReport] {
    get throws { try CrashReportDatabase(path: database).reports() }
  }

  func snapshot(_ report: StoredReport) throws -> ProcessSnapshot {
    let bytes = try Data(contentsOf: URL(fileURLWithPath: report.path))
    return try MinidumpReader.snapshot(of: [UInt8](bytes))
  }

  func report(_ report: StoredReport) throws -> CrashReport {
    CrashReport(snapshot: try snapshot(report), symbolicating: false)
  }

  /// The only report.
  func onlyStored() throws -> StoredReport {
    let all = try stored
    try #require(all.count == 1, "\(all)")
    return all[0]
  }

  /// The lines that a Python script prints about the only report's minidump.
  func python(_ script: String, _ arguments: [String] = []) async throws -> [String] {
    let child = try await ChildProcess.run(
      try #require(OutsideTool.python3.path),
      ["-c", script, try onlyStored().path] + arguments, in: directory.path)
    #expect(child.end.exitCode == 0, "\(child.standardError)")
    return child.standardOutput.split(separator: "\n").map { String($0) }
  }

  /// Returns which of some functions the program enters while it sets its values, including the functions that
  /// mark the start and the end.
  func stops(at functions: [String]) async throws -> [String] {
    // At each stop, gdb prints the function's name.
    let script = """
      import gdb
      gdb.execute("set breakpoint pending on")
      gdb.execute("handle all nostop noprint pass")
      gdb.execute("break telling_begins")
      gdb.execute("run")
      print("@stop", gdb.newest_frame().name())
      for name in "\(functions.joined(separator: " "))".split(): gdb.execute("break " + name)
      gdb.execute("break telling_ends")
      for _ in range(10):
          gdb.execute("continue")
          name = gdb.newest_frame().name()
          print("@stop", name)
          if name == "telling_ends": break
      gdb.execute("kill")
      """
    let path = directory.path + "/stops.py"
    try script.write(toFile: path, atomically: false, encoding: .utf8)
    let child = try await ChildProcess.run(
      try #require(OutsideTool.gdb.path),
      [
        "-batch", "-nx", "-x", path, "--args", executable, "tell", "crash", database,
        directory.path,
      ],
      in: directory.path, environment: ["SWIFT_BACKTRACE": "enable=no", "DEBUGINFOD_URLS": ""])
    return child.standardOutput.split(separator: "\n").compactMap { line in
      line.hasPrefix("@stop ") ? String(line.dropFirst(6)) : nil
    }
  }
}
