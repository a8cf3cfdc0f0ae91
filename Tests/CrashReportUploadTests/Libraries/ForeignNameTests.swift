import CrashReportDatabase
import CrashTestSupport
import Testing

@testable import CrashReportUpload

/// Programs, plugins and preloaded libraries that export names of the libraries that libcurl needs.
///
/// A sample of the proof `exits`, for `swift test`.
@Suite(.needs(.python3))
struct ForeignNameTests {
  private let host: UploadHost

  init() throws { host = try UploadHost() }

  private func library(defining names: [String]) async throws -> String {
    let path = host.directory + "/library.so"
    try await CCompiler.makeLibrary(path, UploadHost.source(defining: names))
    return path
  }

  /// Checks that the program uploads nothing, ends as it wants to, and says why.
  private func expectRefusal(
    _ environment: [String: String], of name: String, in path: String
  ) async throws {
    let child = try await host.run(environment: environment)
    #expect(child.end.exitCode == 7, "\(child.standardError)")
    let reason = try host.uploads.report(host.report).upload.note
    #expect(reason.contains("would call '\(name)' in \(path), which exports that name"))
    #expect(reason.hasSuffix("a separate process can upload: postmortem watch"))
    #expect(
      child.standardOutput.contains("failed: uploads are delayed: \(reason)\nstatus: \(reason)\n"))
    let report = try host.uploads.report(host.report)
    #expect(report.state == .pending && report.upload.attempts == 0)
    #expect(report.upload.nextAttemptTime == nil)
    #expect(try host.server.forms.isEmpty)
  }

  @Test func aPreloadedChecksumIsNotCalled() async throws {
    let path = try await library(defining: ["crc32"])
    try await expectRefusal(["LD_PRELOAD": path], of: "crc32", in: path)
    // The envelope of a program that exports it would be damaged.
    let list = try await ChildProcess.run(
      try BuiltProducts.besideTests("postmortem"), ["list", host.uploads.database.path],
      in: host.directory)
    #expect(list.standardOutput.contains("would call 'crc32' in \(path)"))
  }

  @Test func aPluginWithGlobalNamesOfOpenSSLIsNotCalled() async throws {
    let path = try await library(defining: UploadHost.openSSL)
    let child = try await host.run(environment: ["UPLOADING_VICTIM_LOCAL": path])
    #expect(child.standardOutput.hasPrefix("uploaded: "), "\(child)")
    let next = try host.uploads.addReport()
    let refused = try await host.run(environment: ["UPLOADING_VICTIM_GLOBAL": path])
    #expect(refused.end.exitCode == 7, "\(refused)")
    #expect(try host.uploads.report(next).upload.note.contains("in \(path), which exports"))
    #expect(try host.server.forms.count == 1)
  }

  @Test func theToolSendsNothingEither() async throws {
    let path = try await library(defining: ["deflate", "inflate"])
    let tool = try await ChildProcess.run(
      try BuiltProducts.besideTests("postmortem"),
      ["upload", host.uploads.database.path, "--url", host.server.url("ok")], in: host.directory,
      environment: ["LD_PRELOAD": path])
    #expect(tool.end.exitCode == 1)
    #expect(tool.standardError.contains("in \(path), which exports that name"), "\(tool)")
    #expect(try host.server.forms.isEmpty)
  }
}
