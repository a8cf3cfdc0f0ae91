import CrashAnalysis
import CrashReport
import CrashTestSupport
import Foundation
import Testing

/// Uncaught errors in real crashes: the report shows where they were thrown.
@Suite(.serialized)
struct ThrowReportTests {
  struct Report: Decodable {
    struct Thrown: Decodable {
      struct Frame: Decodable {
        let function: String?
        let file: String?
        let line: Int?
      }
      let threadID: UInt32
      let ageNanoseconds: UInt64?
      let error: String?
      let frames: [Frame]
    }
    let place: String?
    let signature: String?
    let thrown: Thrown?
  }

  private func report(
    _ arguments: [String], privacy: [String] = []
  ) async throws -> (report: Report, text: String) {
    let directory = try SharedDirectory()
    let database = directory.path + "/db"
    let child = try await ChildProcess.run(
      try BuiltProducts.besideTests("crash-lab"), arguments + ["--database", database],
      in: directory.path, environment: ["SWIFT_BACKTRACE": "enable=no"])
    try #require(child.end.signal != nil, "\(child.standardError)")
    let tool = try await BuiltProducts.shared.executable("postmortem", .release)
    let environment = ["POSTMORTEM_NO_SYMBOL_CACHE": "1"]
    _ = try await ChildProcess.run(
      tool, ["process", database] + privacy, in: directory.path, environment: environment)
    let json = try await ChildProcess.run(
      tool, ["show", database, "--json"], in: directory.path, environment: environment)
    let text = try await ChildProcess.run(
      tool, ["show", database], in: directory.path, environment: environment)
    return (
      try JSONDecoder().decode(Report.self, from: Data(json.standardOutput.utf8)),
      text.standardOutput
    )
  }

  /// The number of the source line that contains `throw`.
  private static let throwLine: Int = {
    let path = BuiltProducts.packageRoot + "/Examples/CrashLab/Kinds/RuntimeKinds.swift"
    let lines = (try? String(contentsOfFile: path, encoding: .utf8))?.split(
      separator: "\n", omittingEmptySubsequences: false)
    return (lines?.firstIndex { $0.contains("throw VictimError") } ?? -2) + 1
  }()

  private func expectThrow(_ thrown: Report.Thrown?) throws {
    let thrown = try #require(thrown)
    let frame = try #require(thrown.frames.first)
    #expect(frame.function?.contains("crash_uncaught_error") == true, "\(frame)")
    #expect(frame.file?.hasSuffix("RuntimeKinds.swift") == true && frame.line == Self.throwLine)
    #expect(thrown.frames.count > 1 && thrown.ageNanoseconds != nil)
  }

  @Test(arguments: [[], ["--sanitize"], ["--no-memory"]])
  func outOfMain(_ privacy: [String]) async throws {
    let (report, text) = try await report(["uncaught-error", "--throws"], privacy: privacy)
    try expectThrow(report.thrown)
    #expect(report.place?.contains("crash_uncaught_error() at RuntimeKinds.swift:") == true)
    #expect(report.signature?.contains("crash_uncaught_error") == true)
    #expect(text.contains("The error was thrown ") && text.contains(" before, by thread "))
    #expect((report.thrown?.error == nil) == !privacy.isEmpty)
  }

  @Test(arguments: ["main", "pthread", "dispatch", "task"])
  func tryBang(_ place: String) async throws {
    let (report, _) = try await report(["try-bang", "--on", place, "--throws"])
    try expectThrow(report.thrown)
    #expect(report.place?.contains("crash_try_bang() at RuntimeKinds.swift:") == true)
  }

  @Test func aPrivateDumpHasItToo() async throws {
    let (report, _) = try await report(["try-bang", "--throws", "--privacy", "sanitized"])
    try expectThrow(report.thrown)
    #expect(report.thrown?.error == nil)
  }

  @Test func withoutTheOptionThereIsNone() async throws {
    let (report, text) = try await report(["uncaught-error"])
    #expect(report.thrown == nil && !text.contains("The error was thrown"))
  }

  @Test func otherCrashesHaveNone() async throws {
    #expect(try await report(["null-read", "--throws"]).report.thrown == nil)
  }
}
