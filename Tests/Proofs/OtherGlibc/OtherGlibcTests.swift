#if arch(x86_64)
  import CrashCatalogue
  import CrashTestSupport
  import Foundation
  import Testing

  /// crash-lab, with Swift's libraries linked statically and dynamically, with C libraries that are newer than
  /// this machine's.
  @Suite(.serialized, .enabled("needs root") { geteuid() == 0 })
  struct OtherGlibcTests {
    static let systems = ["trixie", "sid"]

    @Test(arguments: systems)
    func crashesAreCapturedAndEndAsAlone(_ system: String) async throws {
      guard let root = try await root(system) else { return }
      let cases = CatalogueSelection.otherLibrary(.staticDebug)
      try #require(cases.count > 100)
      try await check(cases, system, root)
    }

    private func check(
      _ cases: [CatalogueCase], _ system: String, _ root: CatalogueRoot
    ) async throws {
      let results = CatalogueResults()
      try await CatalogueRun(in: root).run(cases) { outcome in
        results.add(outcome)
        for failure in outcome.failures {
          Issue.record("\(system) \(outcome.testCase)\n\(failure)")
        }
      }
      #expect(results.runs == cases.count)
    }

    @Test(arguments: systems)
    func withSwiftsSharedLibrariesToo(_ system: String) async throws {
      guard let root = try await root(system) else { return }
      let cases = CatalogueSelection.otherLibrary(.asTested).filter(\.isAlone)
      try #require(cases.count > 30)
      try await check(cases, system, root)
    }

    /// Leaves out scenes that start a shell, because the other root has none.
    @Test(arguments: systems)
    func programsDoTheSameAsAlone(_ system: String) async throws {
      guard let root = try await root(system) else { return }
      let executable = try await BuiltProducts.shared.executable("crash-lab", .staticDebug)
      for use in LegalUse.all where !use.needsShell {
        let failures = try await use.failures(executable, in: root)
        #expect(failures.isEmpty, "\(system) \(use.name)\n\(failures.joined(separator: "\n"))")
      }
    }

    @Test(arguments: systems)
    func theReplacedFunctionsDoWhatLibcsDo(_ system: String) async throws {
      guard let root = try await root(system) else { return }
      let failures = try await ReplacedFunctions.failures(
        try await BuiltProducts.shared.executable("crash-lab", .staticDebug), in: root)
      #expect(failures.isEmpty, "\(system)\n\(failures.joined(separator: "\n"))")
    }

    /// Skips the test if one of its packages is not available.
    func root(_ system: String) async throws -> CatalogueRoot? {
      do {
        return try await DebianRoot.made(system)
      } catch let missing as DebianPackage.Missing {
        try Test.cancel("\(missing)")
      }
    }
  }
#endif
