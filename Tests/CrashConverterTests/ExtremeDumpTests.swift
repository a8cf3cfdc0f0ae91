import CrashTestSupport
import Foundation
import Testing

/// Dumps with extreme numbers in their fields, whole and damaged.
///
/// `HostileDumpTests` in `Tests/Proofs` runs many more.
@Suite struct ExtremeDumpTests {
  /// Each batch has different seeds.
  @Test(arguments: [0, 200] as [UInt64])
  func areReadShownAndWritten(_ first: UInt64) async throws {
    let program = try BuiltProducts.besideTests("ExtremeDumps")
    let failures = try await ExtremeDumpRun.failures(of: first..<first + 100, program: program)
    #expect(failures == [])
  }

  /// The inputs that `swift run proofs fuzz` keeps, and former findings.
  @Test func theFuzzersInputsAreRead() async throws {
    let program = try BuiltProducts.besideTests("ExtremeDumps")
    let directory = try TemporaryDirectory()
    func run(_ arguments: [String]) async throws -> String {
      let child = try await ChildProcess.run(program, arguments, in: directory.path)
      #expect(child.end.exitCode == 0, "\(arguments): \(child.end) \(child.standardOutput)")
      return child.standardOutput
    }
    let kept = BuiltProducts.packageRoot + "/Tests/ExtremeDumps/"
    let findings = try FileManager.default.contentsOfDirectory(atPath: kept + "Findings")
    for line in try await run(["targets"]).split(separator: "\n") {
      let target = String(line.prefix { $0 != " " })
      let inputs = directory.path + "/inputs-" + target
      try FileManager.default.createDirectory(
        atPath: inputs, withIntermediateDirectories: false)
      // The command also makes a module that some inputs name.
      _ = try await run(["seeds", target, inputs])
      _ = try await run(["unpack", "\(kept)Corpora/\(target).corpus", inputs])
      let own = findings.filter { $0.hasPrefix(target + "-") }.map { "\(kept)Findings/\($0)" }
      #expect(try await run(["read", target, inputs] + own).hasSuffix(" read\n"))
    }
  }
}
