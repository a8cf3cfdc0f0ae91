import CrashTestSupport
import Foundation
import Testing

/// Inputs that libFuzzer makes, with AddressSanitizer: none ends, stalls or fills a reader.
@Suite struct FuzzTests {
  /// For each target; `POSTMORTEM_FUZZ_SECONDS` says otherwise.
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
