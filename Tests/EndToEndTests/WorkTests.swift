import CrashAnalysis
import CrashCatalogue
import CrashReport
import CrashTestSupport
import Foundation
import Testing

/// The context and breadcrumbs of the unit of work that crashed, among others that ran at the same time.
///
/// `swift run proofs work` runs 100,000 requests.
@Suite struct WorkTests {
  @Test(arguments: WorkingVictim.scenes)
  func itIsShownWithItsOwnWords(_ scene: String) async throws {
    let victim = try WorkingVictim(executable: try BuiltProducts.besideTests("crash-lab"))
    let run = try await victim.run(scene, requests: 300)
    #expect(run.failures(scene) == [])
    let report = CrashReport(snapshot: run.snapshot, symbolicating: false)
    let text = TextReport.text(of: report)
    #expect(text.contains("\nrequest-id = request-\(run.crashed)\n"), "\(text)")
    #expect(text.contains(": request-\(run.crashed) crashes\n"), "\(text)")
    #expect(HTMLReport.text(of: report).contains("<dd>request-\(run.crashed)</dd>"))
  }

  /// The sample report in the page that explains reports is real: each of its lines occurs in a real report,
  /// in the same order.
  @Test func theSampleReportOfTheArticlesIsReal() async throws {
    let article = try String(
      contentsOfFile: BuiltProducts.packageRoot
        + "/Docs/Guide/ReadingAReport.md", encoding: .utf8)
    let block = try #require(article.components(separatedBy: "```").dropFirst().first)
    let sample = block.split(separator: "\n").filter { $0 != "..." }.map(Self.shape)
    #expect(sample.count > 20)
    let victim = try WorkingVictim(executable: try BuiltProducts.besideTests("crash-lab"))
    let run = try await victim.run("task", requests: 300)
    let report = CrashReport(snapshot: run.snapshot, symbolicating: true)
    let text = TextReport.text(of: report, width: 200)
    var lines = text.split(separator: "\n").map(Self.shape)[...]
    for line in sample {
      let place = try #require(lines.firstIndex(of: line), "no \(line) in\n\(text)")
      lines = lines[(place + 1)...]
    }
    // The first five lines must be identical, because a person reads them first.
    #expect(sample.prefix(5) == text.split(separator: "\n").prefix(5).map(Self.shape)[...])
  }

  /// Removes the parts of a line that differ from run to run or from build to build.
  private static func shape(_ line: Substring) -> String {
    String(line).replacing(/[0-9a-f]{8}-[0-9a-f-]{27}/, with: "UUID")
      .replacing(/(less than )?[0-9.]+ ms/, with: "N ms")
      .replacing(/\/\S*\//, with: "/")
      .replacing(/[0-9]+/, with: "N")
  }
}
