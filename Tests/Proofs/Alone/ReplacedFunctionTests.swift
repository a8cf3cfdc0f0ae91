import CrashCatalogue
import CrashTestSupport
import Foundation
import Testing

/// The functions that this package defines in front of libc's return the same, set the same errno and do the same as
/// libc's.
///
/// Docs/Reference/Interposition.md lists the functions, and Examples/CrashLab/C/functions calls them.
@Suite(.enabled("needs root") { geteuid() == 0 })
struct ReplacedFunctionTests {
  @Test(arguments: [BuildConfiguration.asTested, .staticRelease])
  func eachDoesWhatLibcsDoes(_ configuration: BuildConfiguration) async throws {
    let failures = try await ReplacedFunctions.failures(
      try await BuiltProducts.shared.executable("crash-lab", configuration))
    #expect(failures.isEmpty, "\(failures.joined(separator: "\n"))")
  }
}
