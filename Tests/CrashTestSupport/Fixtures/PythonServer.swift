internal import Foundation
internal import Testing

/// Runs `Server/server.py`, which shares no code with this package.
package final class PythonServer {
  /// A form as read by Python's parser.
  package struct Form: Decodable {
    package struct File: Decodable {
      package let name: String
      package let size: Int
      package let sha256: String
    }
    package let path: String
    package let headers: [String: String]
    package let fields: [String: String]
    package let files: [String: File]
    package let order: [String]
    package let defects: [String]
    /// The headers of an envelope's items; nil for a form.
    package let items: [Item]?

    package struct Item: Decodable {
      package let type: String
      package let attachment_type: String?
    }
  }

  private let process = Process()
  private let input = Pipe()
  private let record: String
  /// The file that it writes to; other files have names that start with this path.
  package var recordPath: String { record }
  package let port: Int

  /// - Parameter certificate: the paths of a certificate and its key, for TLS.
  package init(in directory: SharedDirectory, certificate: (String, String)? = nil) throws {
    record = directory.path + "/record-\(UUID().uuidString)"
    let script = BuiltProducts.packageRoot + "/Tests/CrashReportUploadTests/Server/server.py"
    process.executableURL = URL(fileURLWithPath: try #require(OutsideTool.python3.path))
    process.arguments = [script, record] + (certificate.map { [$0.0, $0.1] } ?? [])
    let output = Pipe()
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    var line = ""
    while let byte = try output.fileHandleForReading.read(upToCount: 1)?.first, byte != 0x0A {
      line.append(Character(Unicode.Scalar(byte)))
    }
    port = try #require(Int(line))
  }

  deinit {
    // Closing its input would not end it reliably: a child that another test spawns may also hold the pipe.
    process.killAndWait()
  }

  /// The DSN of a project for envelopes, with the same paths.
  package func dsn(_ path: String) -> String { "http://key@127.0.0.1:\(port)/\(path)/1" }

  package func url(_ path: String) -> String { "http://127.0.0.1:\(port)/\(path)" }

  /// The number of bytes of an answer that the client had received when it disconnected.
  package func bytesSent() async throws -> Int {
    while true {
      if let text = try? String(contentsOfFile: record + ".sent", encoding: .utf8),
        let count = Int(text)
      {
        return count
      }
      try await Task.sleep(for: .milliseconds(20))
    }
  }

  /// The forms that arrived complete, in order.
  package var forms: [Form] {
    get throws {
      guard let text = try? String(contentsOfFile: record, encoding: .utf8) else { return [] }
      return try text.split(separator: "\n").map {
        try JSONDecoder().decode(Form.self, from: Data($0.utf8))
      }
    }
  }
}
