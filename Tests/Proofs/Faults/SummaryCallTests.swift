import CrashReport
import CrashTestSupport
import Testing

/// If descriptor 2 is not the standard error from the start of the program, the handler does no work for the summary.
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

  /// The calls that the crashing thread makes once its dump has its name.
  private func calls(
    _ arguments: [String], after shell: String? = nil
  ) async throws -> Set<String> {
    let calls = try await allCalls(arguments, after: shell)
    let end = try #require(calls.lastIndex(of: "renameat2"))
    return Set(calls[end...])
  }

  /// What putting them together and writing them takes.
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
    // The dump keeps its name, so that no call tells where it ends. Nothing but the summary asks for room.
    let asked = try await allCalls(["--forgo", "files"])
    #expect(asked.contains("ppoll"))
    let calls = try await allCalls(
      ["--forgo", "files", "--condition", "other-stderr"], after: "exec 2>&-")
    #expect(!calls.contains("ppoll"))
  }
}
