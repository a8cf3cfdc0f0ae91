import CrashCatalogue
import CrashTestSupport
import Testing

/// Programs that use signals, threads and processes as they may do the same with the handler as alone, and with a
/// handler that the environment disables.
///
/// The list of scenes is `LegalUse.all`; the differences in it are the one row of
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

  /// The scenes in C, with libc linked statically too.
  @Test(.enabled("needs the toolchain's static libraries") { LinkedProgram.isStaticPossible })
  func aStaticExecutableDoesTheSameAsAlone() async throws {
    let directory = try TemporaryDirectory()
    let program = directory.path + "/program"
    try await LinkedProgram.compile(
      Self.source,
      [
        "-static-executable", "-Xlinker", "-u", "-Xlinker", "__pthread_create", "-lstdc++", "-o",
        program,
      ],
      with: LinkedProgram.modules + ["CCrashLab"], in: directory)
    for use in LegalUse.all where use.family != "dispatch" {
      let failures = try await use.failures(program)
      #expect(failures.isEmpty, "\(use)\n\(failures.joined(separator: "\n"))")
    }
  }

  @Test func eachSceneOfTheProgramIsInTheList() async throws {
    let directory = try TemporaryDirectory()
    let child = try await ChildProcess.run(
      try BuiltProducts.besideTests("crash-lab"), ["use", "list", "--no-handler"],
      in: directory.path)
    let listed = child.standardOutput.split(separator: "\n").map(String.init)
    #expect(listed == LegalUse.all.map(\.name))
  }

  private static let source = """
    import CCrashLab
    import Glibc
    import PostmortemHandler

    let words = CommandLine.arguments
    guard crashlab_prepare_use(words[2]) else { exit(64) }
    if words.count > 4 {
      var options = HandlerOptions()
      options.writesSummary = false
      do {
        try startHandler(database: words[4], options: options)
      } catch {
        guard error.code == .disabled else { exit(65) }
      }
    }
    crashlab_set_dump { stopsThreads in
      _ = try? Handler.current?.dumpWithoutCrash(stopsThreads: stopsThreads)
    }
    crashlab_run_use(words[2])
    """
}
