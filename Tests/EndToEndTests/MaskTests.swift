import CrashCatalogue
import CrashTestSupport
import Testing

/// Programs that block the signals of crashes: their crashes are captured, and they see the masks and the
/// signals that they would see without us.
///
/// Proofs have them with newer versions of glibc (`other-glibc`), and in programs that are built otherwise.
@Suite struct MaskTests {
  @Test(arguments: MaskPlay.all)
  func masksPendingSignalsAndThoseThatAreSentAreAsAlone(_ play: MaskPlay) async throws {
    let failures = try await play.failures(try BuiltProducts.besideTests("crash-lab"))
    #expect(failures.isEmpty, "\(failures.joined(separator: "\n"))")
  }

  @Test func aProgramThatBlocksEverySignalInMainLeavesAReportFromEveryKindOfThread() async throws {
    let cases = try CrashPlace.kinds.flatMap { place in
      try ["blocked-before", "blocked-with-handler"].map { name in
        let condition = try #require(CrashCondition.named(name))
        let crash = try #require(KnownCrash.all.first { $0.kind == "null-read" })
        return CatalogueCase(.crash(crash), condition, on: place, .asTested)
      }
    }
    let results = CatalogueResults()
    try await CatalogueRun().run(cases) { outcome in
      results.add(outcome)
      for failure in outcome.failures { Issue.record("\(outcome.testCase)\n\(failure)") }
    }
    #expect(results.runs == cases.count)
  }
}
