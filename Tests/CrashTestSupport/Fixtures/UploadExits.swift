internal import CrashReportDatabase
internal import Foundation
internal import Testing

/// Programs that end while their uploader sends to a server whose certificate they do not trust.
///
/// Each transfer reads the system's certificates, starts a TLS handshake, and fails.
package struct UploadExits {
  package enum Way: String, CaseIterable, Sendable {
    case `return`
    case exit
    case quickExit = "quick-exit"
    case terminate
    case fork
  }

  package let directory: SharedDirectory
  private let server: PythonServer
  package var url: String { "https://127.0.0.1:\(server.port)/ok" }

  package init() async throws {
    directory = try SharedDirectory()
    let made = try await ChildProcess.run(
      try #require(OutsideTool.openssl.path),
      [
        "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
        "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem", "-out", "cert.pem",
      ], in: directory.path)
    try #require(made.end.exitCode == 0, "\(made.standardError)")
    server = try PythonServer(
      in: directory,
      certificate: (directory.path + "/cert.pem", directory.path + "/key.pem"))
  }

  /// The program's arguments.
  package static func arguments(
    _ way: Way, _ uploads: UploadDatabase, url: String, microseconds: Int
  ) -> [String] {
    [uploads.database.path, url, way.rawValue, "\(microseconds)"]
  }

  /// Runs a program that ends a given time after its uploader has started.
  ///
  /// - Returns: nil if it ended like a program without an uploader, else a description of its end.
  package static func fault(
    _ way: Way, url: String, microseconds: Int
  ) async throws -> String? {
    let uploads = try UploadDatabase()
    for _ in 0..<2 { try uploads.addReport() }
    let child = try await ChildProcess.run(
      try BuiltProducts.besideTests("UploadingVictim"),
      arguments(way, uploads, url: url, microseconds: microseconds), in: uploads.directory.path)
    let isRight =
      switch way {
      case .terminate: child.end.signal == SIGTERM
      case .fork: child.end.exitCode == 7 && child.standardOutput.contains("child \(7 << 8)")
      default: child.end.exitCode == 7
      }
    return isRight
      ? nil
      : "\(way) after \(microseconds) µs: \(child.end) \(child.standardOutput)\(child.standardError)"
  }
}
