import Foundation

/// Other projects' programs that read minidumps and exports.
enum DumpReaders {
  /// True if the tool is installed, and in CI, where its tests must fail instead of being skipped.
  static func isWanted(_ isThere: Bool) -> Bool {
    isThere || ProcessInfo.processInfo.environment["CI"] == "true"
  }

  static let lldb = "/usr/bin/lldb-19"
  static let hasLLDB = FileManager.default.isExecutableFile(atPath: lldb)
  static let hasPythonMinidump = hasPythonModule("minidump.minidumpfile")
  static let hasSymbolic = hasPythonModule("symbolic.minidump")
  static let hasDuckDB = hasPythonModule("duckdb")
  static let hasClickHouse = hasPythonModule("chdb")
  static let hasOpenTelemetry = hasPythonModule("opentelemetry.proto.logs.v1.logs_pb2")

  private static func hasPythonModule(_ name: String) -> Bool {
    (try? run("/usr/bin/env", ["python3", "-c", "import \(name)"]))?.status == 0
  }

  /// Runs a program until it exits.
  static func run(_ path: String, _ arguments: [String]) throws -> (status: Int32, output: String) {
    let process = Process()
    let pipe = Pipe()
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = arguments
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return (process.terminationStatus, String(decoding: output, as: UTF8.self))
  }
}
