import CrashCatalogue
import CrashTestSupport
import Testing

/// Programs that block crash signals: their crashes are captured, and they see the same masks and signals as
/// without the handler.
///
/// The proof `alone` plays all scenes, and the proof `other-glibc` plays them with newer versions of glibc.
@Suite struct MaskTests {
  @Test(arguments: LegalUse.representatives)
  func aProgramDoesTheSameAsAlone(_ use: LegalUse) async throws {
    let failures = try await use.failures(try BuiltProducts.besideTests("crash-lab"))
    #expect(failures.isEmpty, "\(failures.joined(separator: "\n"))")
  }

  @Test func aProgramThatBlocksEverySignalInMainLeavesAReportFromEveryKindOfThread() async throws {
    let cases = try CrashPlace.kinds.flatMap { place in
      try ["blocked-before", "blocked-after"].map { name in
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
