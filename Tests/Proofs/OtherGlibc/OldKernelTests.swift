#if arch(x86_64)
  import CrashAnalysis
  import CrashReport
  import CrashTestSupport
  import Foundation
  import Glibc
  import ProcessSnapshot
  import Testing

  /// The handler and the tool without the features that older kernels lack.
  ///
  /// A seccomp filter refuses them from the program's start on, and a preloaded library hides the entries of the
  /// auxiliary vector.
  @Suite(.needs(.python3))
  struct OldKernelTests {
    /// The features that a kernel lacks, as rules of `OldKernel.py`.
    struct Kernel: Sendable, CustomTestStringConvertible {
      let testDescription: String
      let rules: [String]
      var hidesVector = true
      var hasProcessDescriptors = true
      var wipesCopies = true

      /// False for the last three, which are whole kernel versions.
      var isFeature: Bool { testDescription.hasPrefix("without") }

      /// The rows of the table in Docs/Internals/SystemCalls.md, one at a time.
      static let features = [
        Kernel(
          testDescription: "without MADV_WIPEONFORK", rules: ["28:2:18:19"], hidesVector: false,
          wipesCopies: false),
        Kernel(testDescription: "without AT_MINSIGSTKSZ and the FS base", rules: []),
        Kernel(
          testDescription: "without pidfd_open", rules: ["434="], hidesVector: false,
          hasProcessDescriptors: false),
        Kernel(testDescription: "without statx", rules: ["332="], hidesVector: false),
        Kernel(
          testDescription: "without MADV_POPULATE_READ and _WRITE", rules: ["28:2:22:23"],
          hidesVector: false),
      ]

      /// Everything that a kernel version lacks: system calls after its last one, and advice values of
      /// madvise(2).
      ///
      /// Source: Linux arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/mman-common.h of each
      /// version; 100 and 101 are older.
      static let all =
        features + [
          Kernel(
            testDescription: "4.18", rules: ["334", "28:2:20:99", "28:2:102:999"],
            hasProcessDescriptors: false),
          Kernel(testDescription: "5.4", rules: ["435", "28:2:22:99", "28:2:102:999"]),
          Kernel(
            testDescription: "5.15", rules: ["448", "28:2:24:99", "28:2:102:999"],
            hidesVector: false),
        ]
    }

    private static let script = BuiltProducts.packageRoot + "/Tests/Proofs/OtherGlibc/OldKernel.py"

    /// The program and arguments that run another one on such a kernel.
    private func command(
      _ kernel: Kernel, _ words: [String], in directory: String
    ) async throws -> (String, [String]) {
      var words = words
      if kernel.hidesVector {
        let library = directory + "/old_auxv.so"
        let clang = try await ChildProcess.run(
          try Toolchain.path(of: "clang"),
          [
            "-O1", "-fPIC", "-shared", "-o", library,
            BuiltProducts.packageRoot + "/Tests/Proofs/OtherGlibc/old_auxv.c",
          ], in: directory)
        try #require(clang.end.exitCode == 0, "\(clang)")
        words = ["/usr/bin/env", "LD_PRELOAD=" + library] + words
      }
      return (try #require(OutsideTool.python3.path), [Self.script] + kernel.rules + ["--"] + words)
    }

    private func run(_ kernel: Kernel, _ words: [String], in directory: String) async throws
      -> ChildProcess
    {
      let (program, arguments) = try await command(kernel, words, in: directory)
      return try await ChildProcess.run(
        program, arguments, in: directory, environment: ["SWIFT_BACKTRACE": "enable=no"])
    }

    @Test(arguments: Kernel.all)
    func crashesEndAsAloneWithWholeReportsOfAllThreads(_ kernel: Kernel) async throws {
      try await crash(kernel, ["stack-overflow", "--on", "pthread"])
      guard !kernel.isFeature else { return }
      try await crash(kernel, ["null-read"])
      try await crash(kernel, ["abort", "--on", "task"])
    }

    private func crash(_ kernel: Kernel, _ arguments: [String]) async throws {
      let directory = try TemporaryDirectory()
      let victim =
        [try await BuiltProducts.shared.executable("crash-lab", .asTested)] + arguments + [
          "--threads", "3",
        ]
      let alone = try await run(kernel, victim + ["--no-handler"], in: directory.path)
      #expect(alone.end.signal != nil, "\(alone)")
      let database = directory.path + "/database"
      let handled = try await run(kernel, victim + ["--database", database], in: directory.path)
      #expect(handled.end == alone.end, "\(handled)")
      let reports = try ReportDirectory(database)
      #expect(reports.hasOneCompleteReport, "\(reports.processed)")
      let threads = try #require(reports.snapshots.first).threads
      #expect(threads.count >= 4)
      #expect(threads.allSatisfy { $0.context != nil && !$0.stack.isEmpty })
    }

    @Test(arguments: Kernel.features.prefix(2))
    func aCopyMadeByCloneAloneIsKnownForOneWhereTheKernelWipesAPageInIt(_ kernel: Kernel)
      async throws
    {
      let directory = try TemporaryDirectory()
      let database = directory.path + "/database"
      let victim = try await BuiltProducts.shared.executable("crash-lab", .asTested)
      _ = try await run(
        kernel, [victim, "null-read", "--condition", "raw-clone", "--database", database],
        in: directory.path)
      let reports = try ReportDirectory(database)
      #expect(reports.snapshots.count == (kernel.wipesCopies ? 1 : 0), "\(reports.processed)")
    }

    @Test(arguments: Kernel.all)
    func postmortemCaptureNeedsPidfdOpenAndSaysSo(_ kernel: Kernel) async throws {
      let victim = try await LiveVictim()
      let directory = victim.directory.path
      let (program, arguments) = try await command(
        kernel, [victim.executable, "live-dump", "obeying", "--database", victim.database],
        in: directory)
      let running = try RunningVictim(program, arguments)
      try running.waitForLine("ready")
      let tool = try await BuiltProducts.shared.executable("postmortem", .asTested)
      let child = try await run(
        kernel, [tool, "capture", "\(running.processID)", "--all-threads"], in: directory)
      if kernel.hasProcessDescriptors {
        #expect(child.end.exitCode == 0, "\(child)")
        let report = try victim.onlyReport()
        #expect(report.snapshot.capture.isComplete)
      } else {
        #expect(child.end.exitCode == 1)
        #expect(child.standardError.contains("Function not implemented"), "\(child)")
      }
      try running.ask("alive")
    }
  }
#endif
