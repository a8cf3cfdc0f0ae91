import CrashTestSupport
import Foundation
import Testing

/// The functions that this package defines in front of libc's return the same, set the same errno and do the same as
/// libc's. Docs/Reference/Interposition.md lists the functions.
@Suite(.enabled("needs root") { geteuid() == 0 })
struct ReplacedFunctionTests {
  enum Run: CaseIterable {
    case alone, handled, disabled
  }

  /// The calls are in Examples/CrashLab/C/functions.
  @Test(arguments: [BuildConfiguration.asTested, .staticRelease])
  func eachDoesWhatLibcsDoes(_ configuration: BuildConfiguration) async throws {
    let executable = try await BuiltProducts.shared.executable("crash-lab", configuration)
    let libcs = try await output("libc", .alone, executable)
    // Each of these functions is called with each class of arguments.
    #expect(libcs.count > 1000)
    for run in Run.allCases {
      let own = try await output("own", run, executable)
      for (line, expected) in zip(own, libcs) where line != expected {
        Issue.record("\(run): \(line), libc's: \(expected)")
      }
      #expect(own.count == libcs.count)
    }
  }

  private func output(_ whose: String, _ run: Run, _ executable: String) async throws -> [Substring] {
    let directory = try TemporaryDirectory()
    let handler = run == .alone ? ["--no-handler"] : ["--database", directory.path + "/database"]
    let child = try await ChildProcess.run(
      executable, ["functions", whose] + handler, in: directory.path,
      environment: run == .disabled ? ["POSTMORTEM_DISABLE": "1"] : [:])
    #expect(child.end.exitCode == 0, "\(child)")
    return child.standardOutput.split(separator: "\n")
  }
}
