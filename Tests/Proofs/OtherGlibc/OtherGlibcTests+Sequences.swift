#if arch(x86_64)
  import CrashCatalogue
  import CrashTestSupport
  import Foundation
  import Glibc
  import ProcessSnapshot
  import Testing

  /// Restartable sequences (rseq), for which newer C libraries register each thread.
  extension OtherGlibcTests {
    /// Nil stands for this machine's own C library.
    static let systemsAndThisOne: [String?] = [nil] + systems

    /// Inside a sequence, the kernel makes a signal handler return to the sequence's abort handler, so the
    /// program would continue there.
    @Test(arguments: ["inside", "after"], systemsAndThisOne)
    func aFaultAtASequenceEndsAsAlone(_ scene: String, _ system: String?) async throws {
      let directory = try TemporaryDirectory()
      guard
        let alone = try await play(scene, ["--no-handler"], system, in: directory.path),
        let handled = try await play(
          scene, ["--database", directory.path + "/database"], system, in: directory.path)
      else { return }
      #expect(alone.end.signal == SIGSEGV, "\(alone)")
      #expect(handled.end == alone.end && handled.standardOutput == "", "\(handled)")
      let reports = try ReportDirectory(directory.path + "/database")
      #expect(reports.hasOneCompleteReport, "\(reports.processed)")
      let exception = try #require(reports.snapshots.first?.exception)
      #expect(exception.signal == SIGSEGV && exception.address?.value == 0)
    }

    @Test(arguments: systemsAndThisOne)
    func threadsThatADumpHasStoppedAreRegisteredAsBefore(_ system: String?) async throws {
      let directory = try TemporaryDirectory()
      guard
        let alone = try await play("dump", ["--no-handler"], system, in: directory.path),
        let handled = try await play(
          "dump", ["--database", directory.path + "/database"], system, in: directory.path)
      else { return }
      #expect(alone.standardOutput == "true\ntrue\n", "\(alone)")
      #expect(handled.standardOutput == alone.standardOutput, "\(handled)")
      #expect(handled.end == alone.end && handled.end.exitCode == 0)
      let reports = try ReportDirectory(directory.path + "/database")
      #expect(reports.hasOneCompleteReport, "\(reports.processed)")
      #expect(reports.snapshots.first?.threads.allSatisfy { !$0.stack.isEmpty } == true)
    }

    private func play(
      _ scene: String, _ options: [String], _ system: String?, in directory: String
    ) async throws -> ChildProcess? {
      var command = [try BuiltProducts.besideTests("crash-lab"), "sequence", scene] + options
      if let system {
        guard let root = try await root(system) else { return nil }
        command = root.enter + command
      }
      return try await ChildProcess.run(
        command[0], Array(command.dropFirst()), in: directory,
        environment: ["SWIFT_BACKTRACE": "enable=no"])
    }
  }
#endif
