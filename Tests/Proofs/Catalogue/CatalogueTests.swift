import CrashCatalogue
import CrashTestSupport
import Testing

/// The part of the catalogue that is tested with every change; `swift run proofs catalogue --full` runs all of
/// it.
@Suite struct CatalogueTests {
  @Test func everyKindAndConditionEndsAsAloneAndLeavesItsReports() async throws {
    try await check(CatalogueSelection.everyChange())
  }

  @Test func randomCrashesAReportForEachNoHangNoWrongEnd() async throws {
    let cases = CatalogueSelection.soak(40, seed: 15, builds: [.asTested])
    try await check(cases)
  }

  @Test func theVictimsKindsAndConditionsAreInTheCatalogueAllOfThem() async throws {
    let victim = try await Victim(.asTested)
    let kinds = try await names(victim, "--list")
    #expect(Set(kinds) == Set(KnownCrash.all.map(\.kind) + QuietEnd.all.map(\.kind)))
    for crash in KnownCrash.all {
      let isPossible = crash.causes.allSatisfy { crash.places.contains($0.place) }
      #expect(!crash.causes.isEmpty && isPossible, "\(crash.kind)")
    }
    let conditions = try await names(victim, "--list-conditions")
    let known = Set(CrashCondition.all.map(\.name))
    // Filters that kill change the end, unless `HandlerOptions.forgoing` excludes the call; `ForgoneCallTests` tests
    // both cases.
    let unknown = Set(conditions).subtracting(known).filter { !$0.hasSuffix("-killed") }
    #expect(unknown == Self.elsewhere)
  }

  /// Conditions of crash-lab with suites of their own: `ClosedProcTests`, `CrampedThreadTests`, `ImageTests`,
  /// `TrappedCallTests`.
  private static let elsewhere: Set = [
    "calls-dispatched", "calls-dispatched-but-libc", "calls-filtered", "calls-filtered-early",
    "cramped-threads", "cramped-threads-before", "exits-later", "guarded-stack", "in-module",
    "moved-module", "opens-refused",
    "proc-closed",
  ]

  @Test func aSeedDeterminesASoak() {
    let first = CatalogueSelection.soak(50, seed: 1, builds: BuildConfiguration.allCases)
    let again = CatalogueSelection.soak(50, seed: 1, builds: BuildConfiguration.allCases)
    let other = CatalogueSelection.soak(50, seed: 2, builds: BuildConfiguration.allCases)
    #expect(first.map(\.description) == again.map(\.description))
    #expect(first.map(\.description) != other.map(\.description))
  }

  private func check(_ cases: [CatalogueCase]) async throws {
    let run = try await CatalogueRun()
    let results = CatalogueResults()
    await run.run(cases) { outcome in
      results.add(outcome)
      for failure in outcome.failures {
        Issue.record("swift run proofs catalogue \(outcome.testCase)\n\(failure)")
      }
    }
    #expect(results.runs == cases.count)
  }

  private func names(_ victim: Victim, _ option: String) async throws -> [String] {
    let list = try await victim.run([option], in: "list")
    return list.standardOutput.split(separator: "\n").compactMap {
      $0.split(separator: " ").first.map(String.init)
    }
  }
}
