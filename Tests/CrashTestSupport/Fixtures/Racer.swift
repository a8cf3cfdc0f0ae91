internal import Foundation
internal import Glibc

/// A helper process that was built beside the tests, and that waits for the end of its input.
package final class Racer {
  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()

  /// Starts a `ConverterRacer`, which converts once it is let go.
  package convenience init(
    database: String, identifier: String = "app", inNamespace: Bool = false
  ) throws {
    try self.init(
      "ConverterRacer", [database, identifier], through: inNamespace ? Self.namespace : [])
  }

  /// What makes a program the first process of a PID namespace of its own; needs root.
  package static let namespace = [
    "/usr/bin/unshare", "--pid", "--fork", "--kill-child", "--mount-proc",
  ]

  /// - Parameter through: a command that runs the program, as env(1) does.
  package init(_ program: String, _ arguments: [String], through: [String] = []) throws {
    let words = through + [try BuiltProducts.besideTests(program)] + arguments
    process.executableURL = URL(fileURLWithPath: words[0])
    process.arguments = Array(words.dropFirst())
    process.environment = ProcessInfo.processInfo.environment.merging(
      ["SWIFT_BACKTRACE": "enable=no"]
    ) { _, new in new }
    process.standardInput = input
    process.standardOutput = output
    try process.run()
  }

  package var processID: UInt32 { UInt32(process.processIdentifier) }

  package func letGo() throws {
    try input.fileHandleForWriting.close()
  }

  package func kill() {
    _ = Glibc.kill(process.processIdentifier, SIGKILL)
  }

  /// The signal that ended it; nil if it exited.
  package var endSignal: Int32? {
    process.terminationReason == .uncaughtSignal ? process.terminationStatus : nil
  }

  /// What it exited with, or the signal.
  package var endStatus: Int32 { process.terminationStatus }

  package func waitForZombie() { process.waitForZombie() }

  /// Waits for one line.
  package func firstLine() throws -> String {
    var line: [UInt8] = []
    while let byte = try output.fileHandleForReading.read(upToCount: 1)?.first, byte != 0x0A {
      line.append(byte)
    }
    return String(decoding: line, as: UTF8.self)
  }

  /// Waits for a line that begins with a text; lines before it are lost.
  package func line(with start: String) throws -> String {
    while true {
      let line = try firstLine()
      if line.hasPrefix(start) || line.isEmpty { return line }
    }
  }

  /// Waits for the process's end, and returns the lines it printed.
  package func lines() throws -> [String] {
    let data = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
  }
}
