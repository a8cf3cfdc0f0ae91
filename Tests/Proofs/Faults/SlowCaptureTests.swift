import CrashTestSupport
import Foundation
import ProcessSnapshot
import Testing

/// A capture that takes a long time, as on an overloaded machine.
@Suite(.needs(.strace))
struct SlowCaptureTests {
  /// Calls of the capturing thread take half a second each: 14 seconds, of which the handler counts 28 ticks.
  ///
  /// The first calls are not delayed: while other threads run, those would handle the ticks.
  private static let delays = "process_vm_readv:delay_enter=500000:when=6..33"

  @Test func aThreadThatCrashesMeanwhileWaitsAsLongAsTheCaptureGoesOn() async throws {
    let directory = try TemporaryDirectory()
    let database = directory.path + "/database"
    let child = try await ChildProcess.run(
      try #require(OutsideTool.strace.path),
      [
        "-f", "-qq", "-o", directory.path + "/trace", "-e", "trace=process_vm_readv", "-e",
        "inject=" + Self.delays,
        try await BuiltProducts.shared.executable("crash-lab", .asTested), "abort", "--on",
        "pthread", "--condition", "second-crash", "--database", database,
      ], in: try directory.subdirectory("run"))
    #expect(child.end.signal == SIGABRT)
    let trace = try String(contentsOfFile: directory.path + "/trace", encoding: .utf8)
    // Enough calls were delayed.
    #expect(trace.split(separator: "\n").count { $0.contains("(DELAYED)") } >= 21)
    let reports = try ReportDirectory(database)
    #expect(reports.hasOneCompleteReport, "\(reports.processed)")
    let threads = try #require(reports.snapshots.first).threads
    #expect(threads.count == 3 && threads.allSatisfy { $0.context != nil })
  }
}
