import CrashCatalogue
import CrashReport
import CrashTestSupport
import Testing

/// The context and breadcrumbs of the work that crashed, among others at the same time.
///
/// `swift run proofs work` has 100,000 requests.
@Suite("Work that crashes")
struct WorkTests {
  @Test("It is shown with its own words", arguments: WorkingVictim.scenes)
  func crash(_ scene: String) async throws {
    let victim = try WorkingVictim(executable: try BuiltProducts.besideTests("crash-lab"))
    let run = try await victim.run(scene, requests: 300)
    #expect(run.failures(scene) == [])
    let report = CrashReport(snapshot: run.snapshot, symbolicating: false)
    let text = TextReport.text(of: report)
    #expect(text.contains("\n  request-id = request-\(run.crashed)\n"), "\(text)")
    #expect(text.contains(": request-\(run.crashed) crashes\n"), "\(text)")
    #expect(HTMLReport.text(of: report).contains("<dd>request-\(run.crashed)</dd>"))
  }
}
