import CrashTestSupport
import Foundation
import Testing

/// Threads that no signal can stop open, duplicate and close descriptors while the dump is written.
@Suite struct DescriptorTests {
  @Test(arguments: ["stealing-thread", "theft"], BuildConfiguration.dynamic)
  func whereTheProcessEndsNoByteOfTheDumpGetsIntoAFileOfThePrograms(
    _ condition: String, _ configuration: BuildConfiguration
  ) async throws {
    let victim = try await Victim(configuration)
    let runs = 12
    for number in 1...runs {
      let directory = "run-\(number)"
      let child = try await victim.run(
        ["null-read", "--database", victim.database, "--threads", "3", "--condition", condition],
        in: directory)
      #expect(child.end.signal == 11)
      #expect(try size(of: victim.directory(directory) + "/program-file") == 0)
    }
    let lines = try await victim.process()
    #expect(lines.count == runs)
    #expect(lines.allSatisfy { $0.tellsAWholeDump }, "\(lines)")
  }

  /// In this case, the process keeps its descriptor table, and the dump is written again.
  @Test func whereAHandlerWasThereBeforeADumpThatHasLostItsFileIsWrittenAgain() async throws {
    let victim = try await Victim(.asTested)
    let runs = 12
    for number in 1...runs {
      let child = try await victim.run(
        [
          "null-read", "--database", victim.database, "--threads", "3", "--condition",
          "handler-before", "--condition", "theft",
        ], in: "run-\(number)")
      #expect(child.end.signal == 11)
    }
    let lines = try await victim.process()
    #expect(lines.count == runs)
    #expect(lines.allSatisfy { $0.tellsAWholeDump }, "\(lines)")
  }

  @Test func theSameWhereTheDescriptorTableMayNotBeLeft() async throws {
    let victim = try await Victim(.asTested)
    #if arch(x86_64)
      let unshare = 272
    #else
      let unshare = 97
    #endif
    let child = try await ChildProcess.run(
      victim.executable,
      [
        "null-read", "--database", victim.database, "--threads", "3", "--condition", "theft",
        "--condition", "calls-filtered",
      ], in: try victim.directory("refused"),
      environment: ["SWIFT_BACKTRACE": "enable=no", "CRASHLAB_FILTER": "error:\(unshare)"])
    #expect(child.end.signal == 11)
    let lines = try await victim.process()
    #expect(lines.count == 1 && lines[0].tellsAWholeDump, "\(lines)")
  }

  private func size(of path: String) throws -> UInt64 {
    try FileManager.default.attributesOfItem(atPath: path)[.size] as? UInt64 ?? .max
  }
}
