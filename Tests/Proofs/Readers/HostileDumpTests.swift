import CrashTestSupport
import Foundation
import Testing

/// Many dumps that no process would write: whatever numbers they contain, no reader crashes.
@Suite struct HostileDumpTests {
  /// The number of dumps; `POSTMORTEM_EXTREME_DUMPS` changes it.
  private static let count =
    UInt64(ProcessInfo.processInfo.environment["POSTMORTEM_EXTREME_DUMPS"] ?? "") ?? 4_000
  private static let batch: UInt64 = 5_000
  /// The first seed of the dumps that are damaged versions of real ones, too.
  private static let first: UInt64 = 1_000_000

  /// Dumps of real crashes.
  private static func samples(in directory: String) async throws -> String {
    let samples = directory + "/samples"
    try FileManager.default.createDirectory(
      atPath: samples, withIntermediateDirectories: true)
    for kind in ["null-read", "abort", "precondition"] {
      let database = "\(directory)/\(kind)"
      _ = try await ChildProcess.run(
        try BuiltProducts.besideTests("crash-lab"), [kind, "--database", database], in: directory,
        environment: ["SWIFT_BACKTRACE": "enable=no"])
      let pending = database + "/pending-serialized-dumps"
      let names = try FileManager.default.contentsOfDirectory(atPath: pending)
      let dump = try #require(names.first { !$0.hasSuffix(".run") && !$0.hasSuffix(".fifo") })
      try FileManager.default.copyItem(atPath: "\(pending)/\(dump)", toPath: "\(samples)/\(kind)")
    }
    return samples
  }

  @Test func extremeAndDamagedDumpsRealOnesTooAreReadShownAndWritten() async throws {
    let program = try await BuiltProducts.shared.executable("ExtremeDumps", .release)
    let directory = try SharedDirectory()
    let samples = try await Self.samples(in: directory.path)
    let invented = try await ExtremeDumpRun.failures(of: 0..<300, program: program)
    #expect(invented == [])
    let firsts = stride(from: Self.first, to: Self.first + Self.count, by: Int(Self.batch))
    let failures = try await withThrowingTaskGroup(of: [String].self) { group in
      for first in firsts {
        let end = min(first + Self.batch, Self.first + Self.count)
        group.addTask {
          try await ExtremeDumpRun.failures(
            of: first..<end, program: program, samples: samples, patience: 1200)
        }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    #expect(failures == [])
  }

  @Test func allInputsOfTheFuzzerAreRead() async throws {
    let program = try await BuiltProducts.shared.executable("ExtremeDumps", .release)
    try await ExtremeDumpRun.readFuzzersInputs(program: program)
  }
}
