import CrashTestSupport
import Foundation
import Testing

/// Inputs that libFuzzer makes, with AddressSanitizer: none ends, stalls or fills a reader.
@Suite struct FuzzTests {
  /// For each target; `POSTMORTEM_FUZZ_SECONDS` says otherwise.
  private static let seconds =
    Int(ProcessInfo.processInfo.environment["POSTMORTEM_FUZZ_SECONDS"] ?? "") ?? 6

  @Test(arguments: try await FuzzRun.targets())
  func noFindingFromTheKeptInputsNorFromWhatIsMadeOfThemInSomeSeconds(_ target: FuzzRun.Target)
    async throws
  {
    let run = try await FuzzRun(target)
    let outcome = try await run.run(seconds: Self.seconds)
    #expect(outcome.log == "", "\(outcome.finding?.count ?? 0) bytes")
    #expect(outcome.executions > 0)
  }
}
