import CrashTestSupport
import Foundation
import Glibc

/// A `ConverterRacer` process, which waits until it is let go.
final class Racer {
  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()

  init(database: String, identifier: String = "app") throws {
    // The test bundle and the helper are built into the same folder.
    let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    process.executableURL = URL(fileURLWithPath: own).deletingLastPathComponent()
      .appendingPathComponent("ConverterRacer")
    process.arguments = [database, identifier]
    process.standardInput = input
    process.standardOutput = output
    try process.run()
  }

  var processID: UInt32 { UInt32(process.processIdentifier) }

  func letGo() throws {
    try input.fileHandleForWriting.close()
  }

  func kill() {
    _ = Glibc.kill(process.processIdentifier, SIGKILL)
  }

  /// Waits for one line.
  func firstLine() throws -> String {
    var line: [UInt8] = []
    while let byte = try output.fileHandleForReading.read(upToCount: 1)?.first, byte != 0x0A {
      line.append(byte)
    }
    return String(decoding: line, as: UTF8.self)
  }

  /// Waits for the process's end, and returns the lines it printed.
  func lines() throws -> [String] {
    let data = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
  }
}
