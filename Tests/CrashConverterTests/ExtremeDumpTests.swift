import CrashTestSupport
import Foundation
import Testing

/// Dumps with numbers from the ends of what their fields can hold, whole and damaged.
///
/// `HostileDumpTests` in `Tests/Proofs` runs many more.
@Suite struct ExtremeDumpTests {
  /// Each batch has seeds of its own.
  @Test(arguments: [0, 200, 400, 600] as [UInt64])
  func areReadShownAndWritten(_ first: UInt64) async throws {
    let program = try BuiltProducts.besideTests("ExtremeDumps")
    let failures = try await ExtremeDumpRun.failures(of: first..<first + 200, program: program)
    #expect(failures == [])
  }
}
