import CrashAnalysis
import CrashTestSupport
import Testing

/// If descriptor 2 is no longer the standard error of the program's start, the handler does no work for the
/// summary.
@Suite struct SummaryCallTests {
  /// The calls of the crashing thread.
  private func allCalls(
    _ arguments: [String], after shell: String? = nil
  ) async throws -> [String] {
    let run = try await InjectedRun(
      ["abort", "--threads", "3"] + arguments, .none, after: shell)
    #expect(run.hasCompleteReport)
    return run.report.calls.filter { $0.role == .crashing }
      .map { SystemCallNames.name($0.number) ?? "\($0.number)" }
  }

  /// The calls that the crashing thread makes after it has renamed its dump.
  private func calls(
    _ arguments: [String], after shell: String? = nil
  ) async throws -> Set<String> {
    let calls = try await allCalls(arguments, after: shell)
    let end = try #require(calls.lastIndex(of: "renameat2"))
    return Set(calls[end...])
  }

  /// The calls with which the handler collects and writes the summary.
  private static let work: Set = ["process_vm_readv", "openat", "read", "ppoll", "write"]

  @Test func withStandardErrorOpenTheyArePutTogether() async throws {
    #expect(try await calls([]).isSuperset(of: Self.work))
  }

  @Test func closedAtTheStartTheyAreNot() async throws {
    #expect(try await calls([], after: "exec 2>&-").isDisjoint(with: Self.work))
  }

  @Test func norWhereDescriptor2IsAnotherFileByNow() async throws {
    #expect(try await calls(["--condition", "other-stderr"]).isDisjoint(with: Self.work))
  }

  @Test func norInWhatHasGotItsNumberSinceTheStartUnchecked() async throws {
    // With this option, the handler does not rename the dump, so no call marks the dump's end. Only the summary
    // calls ppoll, to check that the pipe has room.
    let asked = try await allCalls(["--forgo", "files"])
    #expect(asked.contains("ppoll"))
    let calls = try await allCalls(
      ["--forgo", "files", "--condition", "other-stderr"], after: "exec 2>&-")
    #expect(!calls.contains("ppoll"))
  }
}
