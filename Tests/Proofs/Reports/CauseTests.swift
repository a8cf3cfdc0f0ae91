import CrashAnalysis
import CrashCatalogue
import CrashReport
import CrashTestSupport
import Foundation
import IntermediateDump
import PendingDumps
import ProcessSnapshot
import Testing

/// Causes that depend on the build, or on what the kernel says of the sender; the catalogue checks those of
/// every kind.
@Suite struct CauseTests {
  @Test(arguments: [
    ("precondition", "swift-precondition"), ("unwrap-nil", "swift-unwrapped-nil"),
    ("index-out-of-range", "swift-index-out-of-range"),
    ("integer-overflow", "swift-integer-overflow"),
  ])
  func optimisedTheChecksThatLeaveNoTextAreToldFromDebugInformation(_ crash: String, _ kind: String)
    async throws
  {
    let report = try await Self.report(crash, on: .main, isNamed: true, configuration: .release)
    #expect(report.message == nil)
    #expect(report.cause?.kind == kind, "\(report.explanation ?? "none")")
    #expect(report.cause?.certainty == .inferred)
  }

  @Test func aSenderIsNamedAndTheMainThreadsRestIsSeen() async throws {
    let report = try await Self.report(
      "sent-abort", on: .main, isNamed: false, configuration: .asTested)
    #expect(report.snapshot.exception?.senderName == "crash-lab")
    let text = try #require(report.explanation)
    #expect(text.contains("(crash-lab) of user"))
    // The main thread waits for the child that sends the signal.
    #expect(text.contains("The main thread was idle, in wait4."), "\(text)")
  }

  @Test func aServiceManagersSIGABRTIsTakenForItsWatchdogsWhereItWatches() async throws {
    let victim = try await Victim(.asTested)
    // The report recognizes the service manager only by its name; here the child that sends the signal has it.
    let manager = try victim.directory("manager") + "/systemd"
    try FileManager.default.createSymbolicLink(
      atPath: manager, withDestinationPath: victim.executable)
    for interval in ["30000000", ""] {
      let database = try victim.directory("watched\(interval)") + "/database"
      let child = try await ChildProcess.run(
        manager, ["sent-abort", "--database", database], in: try victim.directory("handled"),
        environment: ["SWIFT_BACKTRACE": "enable=no", "WATCHDOG_USEC": interval])
      #expect(child.end.signal == SIGABRT)
      let report = try Self.report(inDatabase: database, isNamed: false)
      #expect(report.cause?.kind == (interval.isEmpty ? "sent-signal" : "watchdog"))
      guard !interval.isEmpty else { continue }
      #expect(report.cause?.certainty == .likely)
      let text = try #require(report.explanation)
      #expect(text.contains("no watchdog message for 30 s (WatchdogSec)"), "\(text)")
      #expect(text.contains("(systemd) of user"), "\(text)")
    }
  }

  static func report(
    _ crash: String, on place: CrashPlace, isNamed: Bool, configuration: BuildConfiguration
  ) async throws -> CrashReport {
    let victim = try await Victim(configuration)
    _ = try await victim.die(crash, on: place)
    return try report(inDatabase: victim.database, isNamed: isNamed)
  }

  private static func report(inDatabase database: String, isNamed: Bool) throws -> CrashReport {
    var snapshot = try snapshot(inDatabase: database)
    // The stacks of the other threads take time, and are not tested here.
    let kept = [snapshot.exception?.threadID, snapshot.process.processID]
    snapshot.threads.removeAll { !kept.contains($0.id) }
    return CrashReport(snapshot: snapshot, symbolicating: isNamed)
  }

  /// The snapshot of the only pending dump.
  static func snapshot(inDatabase database: String) throws -> ProcessSnapshot {
    let directory = database + "/" + PendingDumpName.directory
    let names = try FileManager.default.contentsOfDirectory(atPath: directory).filter {
      !$0.hasSuffix(".run") && !$0.hasSuffix(".fifo") && !$0.hasSuffix(".locked")
    }
    try #require(names.count == 1, "\(names)")
    return try Victim.snapshot(ofDump: directory + "/" + names[0])
  }
}
