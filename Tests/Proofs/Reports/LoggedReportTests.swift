import CrashAnalysis
import CrashCatalogue
import CrashReport
import CrashReportDatabase
import CrashTestSupport
import Foundation
import ProcessSnapshot
import Stackwalk
import Testing

/// For each kind of crash, the report from the log equals the report from the dump, as far as the log goes.
@Suite struct LoggedReportTests {
  /// Without `--full`, every fourth kind of crash.
  private static let crashes = KnownCrash.all.enumerated().filter {
    LoggedReport.isFull || $0.offset.isMultiple(of: 4)
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
    Self.compare(
      CrashReport(snapshot: logged, symbolicating: true),
      CrashReport(snapshot: try Victim.snapshot(of: stored), symbolicating: true))
  }

  private static func compare(_ logged: CrashReport, _ dumped: CrashReport) {
    #expect(logged.cause?.kind == dumped.cause?.kind)
    #expect(logged.cause?.certainty == dumped.cause?.certainty)
    #expect(logged.message == dumped.message)
    #expect(logged.place == dumped.place)
    #expect(logged.signature == dumped.signature)
    // Of a deep stack, the log and the dump have different parts.
    func frames(_ report: CrashReport) -> ArraySlice<StackFrame> {
      guard let trace = report.threads.first?.trace else { return [] }
      let frames =
        trace.omittedCount > 0 ? trace.frames.prefix(trace.omittedAfter) : trace.frames[...]
      return frames.prefix { $0.trust != .afterGap }
    }
    let (ours, theirs) = (frames(logged), frames(dumped))
    #expect(ours.count >= min(theirs.count, 60))
    #expect(ours.count <= theirs.count || theirs.count >= 60)
    for (our, their) in zip(ours, theirs) {
      #expect(our.address == their.address && our.symbol == their.symbol)
      #expect(our.sourceLocation == their.sourceLocation && our.isInlined == their.isInlined)
    }
  }
}
