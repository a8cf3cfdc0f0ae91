import CrashAnalysis
import CrashCatalogue
import CrashReport
import CrashReportDatabase
import CrashTestSupport
import Foundation
import ProcessSnapshot
import Testing

/// For each kind of crash, the report from the log equals the report from the dump, as far as the log goes.
@Suite struct LoggedReportTests {
  /// Without `--full`, every fourth kind of crash.
  private static let crashes = KnownCrash.all.enumerated().filter {
    ProofExtent.isFullOfReports || $0.offset.isMultiple(of: 4)
  }.map(\.element)

  @Test(arguments: crashes)
  func theReportFromTheLogIsTheReportFromTheDump(_ crash: KnownCrash) async throws {
    let victim = try await Victim(.asTested)
    let handled = try await victim.die(crash.kind, on: crash.places.first ?? .main)
    let logged = try #require(try LoggedReport.snapshots(in: handled.standardError).first)
    #expect(try await victim.process().count == 1)
    let stored = try #require(try victim.reports().first)
    #expect(logged.reportID == stored.id)
    let size = handled.standardError.split(separator: "\n").filter { $0.hasPrefix("postmortem") }
      .reduce(0) { $0 + $1.utf8.count + 1 }
    #expect(size <= 6144)
    #expect(
      LoggedReport.differences(
        CrashReport(snapshot: logged, symbolicating: true),
        CrashReport(snapshot: try Victim.snapshot(of: stored), symbolicating: true),
        isUnderCondition: false) == [])
  }
}
