#if arch(x86_64)
  import CrashTestSupport
  import IntermediateDump
  import ProcessSnapshot
  import Testing

  /// Runs crash-lab under qemu-user, whose version 7.2 calls signal handlers with a misaligned stack.
  @Suite(.needs(.ownEmulator))
  struct EmulatedTests {
    private func run(
      _ arguments: [String], in directory: borrowing TemporaryDirectory
    ) async throws -> ChildProcess {
      let victim = try await BuiltProducts.shared.executable("crash-lab", .asTested)
      return try await ChildProcess.run(
        try #require(OutsideTool.ownEmulator.path), [victim] + arguments,
        in: try directory.subdirectory("run"), patience: 120)
    }

    @Test(
      arguments: [
        ("null-read", 11), ("abort", 6), ("fatal-error", 4), ("divide-by-zero", 8),
        ("stack-overflow", 11), ("double-free", 6),
      ] as [(String, Int32)])
    func aCrashEndsAsAloneAndItsReportIsAboutTheProgram(_ kind: String, _ signal: Int32)
      async throws
    {
      let directory = try TemporaryDirectory()
      let alone = try await run([kind, "--no-handler"], in: directory)
      #expect(alone.end.signal == signal)
      let database = directory.path + "/database"
      let handled = try await run([kind, "--threads", "3", "--database", database], in: directory)
      #expect(handled.end == alone.end)
      let processed = try ReportDirectory(database)
      #expect(processed.hasOneCompleteReport, "\(processed)")
      let snapshot = try #require(processed.snapshots.first)
      #expect(snapshot.exception?.signal == signal)
      #expect(snapshot.capture.sectionsAbandoned ?? 0 == 0)
      // The handler's entry for the stop signal works too: the sleeping threads are stopped.
      #expect(snapshot.capture.threadsStopped ?? 0 >= 3)
    }

    @Test func aSignalThatAsksTheProcessToEndDoes() async throws {
      let directory = try TemporaryDirectory()
      let alone = try await run(["terminated", "--no-handler"], in: directory)
      #expect(alone.end.signal == 15)
      let handled = try await run(
        ["terminated", "--database", directory.path + "/database"], in: directory)
      #expect(handled.end == alone.end)
    }
  }
#endif
