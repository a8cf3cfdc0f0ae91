import CrashTestSupport
import Testing

/// Dumps with extreme numbers in their fields, whole and damaged.
///
/// `HostileDumpTests` in `Tests/Proofs` runs many more.
@Suite struct ExtremeDumpTests {
  /// Each batch has different seeds.
  @Test(arguments: [0, 200] as [UInt64])
  func areReadShownAndWritten(_ first: UInt64) async throws {
    let program = try BuiltProducts.besideTests("ExtremeDumps")
    let failures = try await ExtremeDumpRun.failures(of: first..<first + 25, program: program)
    #expect(failures == [])
  }

  /// A tenth of the inputs that `swift run proofs fuzz` keeps, and all former findings.
  @Test func theFuzzersInputsAreRead() async throws {
    let program = try BuiltProducts.besideTests("ExtremeDumps")
    try await ExtremeDumpRun.readFuzzersInputs(program: program, every: 10)
  }
}
