import CrashTestSupport
import Foundation
import Testing

/// A real server that implements Sentry's protocol, on loopback, with its own directory.
final class BugsinkServer {
  /// An issue in the server's database.
  struct Issue: Decodable {
    struct Event: Decodable {
      let id: String
      let level: String
      let release: String
      let tags: [String: String]
      let frames: [Frame]
      let breadcrumbs: [String]
      /// The time of the crash in the event's context `clock`.
      let crashTime: String?
    }
    struct Frame: Decodable {
      let function: String
      let file: String
      let line: Int
    }
    let title: String
    let function: String
    let events: [Event]
  }

  private let process = Process()
  private let directory: String
  private let python: String
  private let words: [Substring]

  init(in directory: String) throws {
    self.directory = directory
    python = try #require(OutsideTool.bugsink.path)
    process.executableURL = URL(fileURLWithPath: python)
    process.arguments = [Self.script, "serve", directory]
    process.environment = ["HOME": directory, "PATH": "/usr/bin:/bin"]
    let output = Pipe()
    process.standardOutput = output
    let log = directory + "/log"
    _ = FileManager.default.createFile(atPath: log, contents: nil)
    process.standardError = try FileHandle(forWritingTo: URL(fileURLWithPath: log))
    process.standardInput = FileHandle.nullDevice
    try process.run()
    var line = ""
    while let byte = try output.fileHandleForReading.read(upToCount: 1)?.first, byte != 0x0A {
      line.append(Character(Unicode.Scalar(byte)))
    }
    words = line.split(separator: " ")
    let said = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
    try #require(words.count == 3, "\(said.suffix(2000))")
  }

  deinit { process.killAndWait() }

  private static let script = BuiltProducts.packageRoot + "/Tests/Proofs/Sentry/receiver.py"

  var dsn: String { dsn(key: words[1]) }

  /// The project's address with another key, as after a mistake in a deployment.
  func dsn(key: some StringProtocol) -> String {
    "http://\(key)@127.0.0.1:\(words[0])/\(words[2])"
  }

  /// The URL that accepts minidumps in Crashpad's form.
  var minidumpURL: String {
    "http://127.0.0.1:\(words[0])/api/\(words[2])/minidump/?sentry_key=\(words[1])"
  }

  func issues() async throws -> [Issue] {
    let child = try await ChildProcess.run(
      python, [Self.script, "read", directory], in: directory)
    try #require(child.end.exitCode == 0, "\(child.standardError)")
    return try JSONDecoder().decode([Issue].self, from: Data(child.standardOutput.utf8))
  }
}
