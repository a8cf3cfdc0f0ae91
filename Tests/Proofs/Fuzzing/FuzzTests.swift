import CrashTestSupport
import Foundation
import Testing

/// Inputs that libFuzzer generates, with AddressSanitizer: none makes a reader crash, hang or run out of memory.
@Suite struct FuzzTests {
  /// The seconds for each target; `POSTMORTEM_FUZZ_SECONDS` changes them.
  private static let seconds =
    Int(ProcessInfo.processInfo.environment["POSTMORTEM_FUZZ_SECONDS"] ?? "")

  @Test(arguments: try await FuzzRun.targets())
  func noFindingFromTheKeptInputsNorFromWhatIsMadeOfThemInSomeSeconds(_ target: FuzzRun.Target)
    async throws
  {
    let run = try await FuzzRun(target, isOptimized: Self.seconds != nil)
    let outcome = try await run.run(seconds: Self.seconds ?? 3)
    #expect(outcome.log == "", "\(outcome.finding?.count ?? 0) bytes")
    #expect(outcome.executions > 0)
  }
}
