import CrashReportDatabase
import CrashTestSupport
import Foundation
import Testing

/// Servers that misbehave with HTTP/2 get HTTP/1.1, because it is the only version that is offered.
@Suite(.needs(.python3), .needs(.openssl))
struct HTTPVersionTests {
  private let uploads: UploadDatabase

  init() throws { uploads = try UploadDatabase() }

  /// Runs a command in a mount namespace in which the server's certificate is trusted.
  private func run(_ fault: String, _ command: String) async throws -> ChildProcess {
    let script = """
      set -e
      mount --bind cert.pem /etc/ssl/certs/ca-certificates.crt
      python3 "$1" "$2" cert.pem key.pem > port & server=$!
      trap 'kill $server' EXIT
      until [ -s port ]; do sleep 0.05; done
      export PORT=$(cat port)
      sh -c "$3"
      """
    return try await ChildProcess.run(
      "/usr/bin/env",
      [
        "unshare", "--mount", "bash", "-c", script, "bash",
        BuiltProducts.packageRoot + "/Tests/Proofs/Uploads/http2.py", fault, command,
      ], in: uploads.directory.path, patience: 120)
  }

  private func makeCertificate() async throws {
    let made = try await ChildProcess.run(
      try #require(OutsideTool.openssl.path),
      [
        "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
        "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem", "-out", "cert.pem",
      ], in: uploads.directory.path)
    try #require(made.end.exitCode == 0, "\(made.standardError)")
  }

  private static let faults = ["rst", "goaway", "silence", "http11", "cut"]

  @Test(.enabled("needs root") { geteuid() == 0 }, arguments: faults)
  func anUploadUsesHTTP1(_ fault: String) async throws {
    try await makeCertificate()
    let id = try uploads.addReport()
    let tool = try BuiltProducts.besideTests("postmortem")
    let upload = try await run(
      fault,
      "'\(tool)' upload '\(uploads.database.path)' --timeout 5 --url https://127.0.0.1:$PORT/")
    #expect(upload.end.exitCode == 0, "\(upload)")
    #expect(try uploads.report(id).upload.serverID == "over-http-1.1")
  }

  @Test(.enabled("needs root") { geteuid() == 0 }, arguments: faults)
  func aRequestForADebugFileUsesHTTP1(_ fault: String) async throws {
    try await makeCertificate()
    let tool = try BuiltProducts.besideTests("postmortem")
    let (directory, database) = (uploads.directory.path, uploads.directory.path + "/crashes")
    try Spawn.copyProgram(BuiltProducts.besideTests("crash-lab"), to: directory + "/service")
    let crash = try await ChildProcess.run(
      directory + "/service", ["null-read", "--database", database, "--no-summary"], in: directory)
    #expect(crash.end.signal == SIGSEGV)
    try FileManager.default.removeItem(atPath: directory + "/service")
    let show = try await run(
      fault,
      "export POSTMORTEM_NO_SYMBOL_CACHE=1 XDG_CACHE_HOME=$PWD DEBUGINFOD_URLS=https://127.0.0.1:$PORT; '\(tool)' show '\(database)'"
    )
    #expect(show.end.exitCode == 0 && show.standardOutput.contains("SIGSEGV"), "\(show)")
    let requests = try String(contentsOfFile: directory + "/requests", encoding: .utf8)
    #expect(requests.contains(/GET \/buildid\/[0-9a-f]+\/debuginfo HTTP\/1.1/), "\(requests)")
  }
}
