import CrashCatalogue
import CrashTestSupport
import Testing

/// Programs that use signals, threads and processes as they may do the same with the handler as alone, and with a
/// handler that the environment disables. The list of scenes is `LegalUse.all`; the differences in it are the one row of
/// Docs/Limits.md about blocked signals.
@Suite struct LegalUseTests {
  @Test(arguments: LegalUse.all, [BuildConfiguration.asTested, .staticRelease])
  func aProgramDoesTheSameAsAlone(
    _ use: LegalUse, _ configuration: BuildConfiguration
  ) async throws {
    let executable = try await BuiltProducts.shared.executable("crash-lab", configuration)
    let failures = try await use.failures(executable)
    #expect(failures.isEmpty, "\(failures.joined(separator: "\n"))")
  }

  @Test func eachSceneOfTheProgramIsInTheList() async throws {
    let directory = try TemporaryDirectory()
    let child = try await ChildProcess.run(
      try BuiltProducts.besideTests("crash-lab"), ["use", "list", "--no-handler"],
      in: directory.path)
    let listed = child.standardOutput.split(separator: "\n").map(String.init)
    #expect(listed == LegalUse.all.map(\.name))
  }
}
