#if arch(x86_64)
  import CrashCatalogue
  import CrashConverter
  import CrashHandler
  import CrashReportDatabase
  import CrashTestSupport
  import Foundation
  import Minidump
  import ProcessSnapshot
  import Stackwalk
  import Testing

  /// Runs the catalogue's crashes on an emulated arm64 machine with a real kernel, and compares reports with what
  /// gdb reads in the core files.
  @Suite(
    .serialized, .needs(.arm64Machine), .needs(.multiarchGDB), .needs(.cpio), .needs(.python3),
    .needs(.strace))
  struct ARM64MachineTests {
    /// A build configuration and an emulated processor that runs it.
    struct Machine: Sendable, CustomTestStringConvertible {
      let testDescription: String
      var part = Part.conditions
      var configuration = "debug"
      var kernel = ARM64System.Kernel.pages4K
      var processor = "cortex-a76"
      var extent = CatalogueSelection.Extent.everyCondition

      /// A processor with signed pointers, and with vectors and matrices of any length.
      private static let withAllFeatures = "max,pauth-impdef=on"
      /// On such a processor, as on current servers, libc signs its return addresses.
      ///
      /// Emulating this processor takes no more time than an older one.
      static let everyday = [
        Machine(
          testDescription: "all that qemu knows", processor: withAllFeatures, extent: .everyChange)
      ]
      static let all = [
        Machine(testDescription: "Cortex-A76, all conditions", extent: .everySort),
        Machine(testDescription: "release", part: .release, configuration: "release"),
        Machine(testDescription: "pages of 16 KiB", part: .pages, kernel: .pages16K),
        Machine(
          testDescription: "all that qemu knows", part: .processor, processor: withAllFeatures),
      ]

      static var some: [Machine] { Part.isFull ? all.filter { $0.part.isChosen } : everyday }

      var cases: [ARM64Machine.Case] {
        CatalogueSelection.arm64(extent).map { testCase in
          ARM64Machine.Case(
            testCase: testCase, runsAlone: Part.isFull || testCase.condition.endsOtherwise,
            wantsCore: testCase.isAlone && testCase.place == .main
              && KnownCrash.debugged.contains { $0.kind == testCase.death.kind })
        }
      }
    }

    /// A part of `--full`: POSTMORTEM_ARM64 is `all`, or a list of parts separated by commas.
    enum Part: String, CaseIterable {
      case conditions, release, pages, processor, scenes

      /// The chosen parts; nil if the variable is not set.
      ///
      /// An unknown name must fail: it would choose no test, and the proof would pass.
      private static let chosen: [Part]? =
        ProcessInfo.processInfo.environment["POSTMORTEM_ARM64"].map { value in
          if value == "all" { return allCases }
          return value.split(separator: ",").map { name in
            guard let part = Part(rawValue: String(name)) else {
              fatalError("POSTMORTEM_ARM64: \(name) is none of all, \(allCases.map(\.rawValue))")
            }
            return part
          }
        }
      static var isFull: Bool { chosen != nil }

      var isChosen: Bool { Self.chosen?.contains(self) == true }
    }

    @Test(arguments: Machine.some)
    func crashesEndAsAloneLeaveWhatTheyMustAndAreWhatGdbSees(_ machine: Machine) async throws {
      let directory = try TemporaryDirectory()
      let (programs, kernel) = try await system(machine)
      let emulated = ARM64Machine(
        programs: programs, kernel: kernel, processor: machine.processor, counts: [0, 15, 79])
      let cases = machine.cases
      try #require(cases.count > 50)
      let results = try await emulated.run(cases, in: directory.path)
      let check = CatalogueCheck(directories: [programs.tree])
      for result in results {
        var failures = Self.failures(result)
        failures += try check.failures(of: result.testCase, database: result.database)
        if !failures.isEmpty {
          failures.append("standard error: \(result.standardError.suffix(600))")
        }
        for failure in failures { Issue.record("\(machine) \(result.testCase)\n\(failure)") }
      }
      let compared = results.filter(\.wantsCore)
      #expect(compared.count >= 10)
      for result in compared {
        try await compare(
          result, programs, in: directory.subdirectory("gdb-\(result.directory.hashValue)"))
      }
      try handlerOnly(directory.path + "/results/handler-only")
      try await counted(
        directory.path + "/results/counted", programs,
        build: machine.configuration == "debug" ? .asTested : .release)
    }

    @Test func theCrashPathOfTheArm64ProgramCallsNothingThatIsNotOursOrAllowed() async throws {
      let (programs, _) = try await system(Machine.everyday[0])
      let disassembly = try Disassembly(of: programs.crashLab)
      var audit = CallGraphAudit(disassembly, allowed: try .keptForARM64())
      let roots = CallGraphTests.roots(in: disassembly)
      #expect(Section.allCases.allSatisfy { disassembly.symbols.contains($0.symbol) }, "\(roots)")
      try audit.walk(from: roots)
      #expect(audit.violations.isEmpty, "\(audit.violations.map(\.description).sorted())")
      #expect(audit.reached.count > 30)
      // The audit must find planted violations: a symbol that the crash would bind, and an access to thread-local
      // memory.
      var planted = CallGraphAudit(disassembly, allowed: try .keptForARM64(), binder: "pm_getpid")
      try planted.walk(from: ["pm_bind_now", "pm_new_work", "pm_work_value"])
      let found = Set(planted.violations.map { $0.what.prefix { $0 != ":" } })
      #expect(found.isSuperset(of: ["binds memset in a crash", "thread-local"]), "\(found)")
    }

    /// The faults that the shell's results show: exit codes and messages.
    private static func failures(_ result: ARM64Machine.Result) -> [String] {
      var failures: [String] = []
      if case .crash(let crash) = result.testCase.death, !result.testCase.condition.endsOtherwise {
        let known = 128 + Int(crash.signal)
        if result.end != known { failures.append("ended by \(result.end), not by \(known)") }
        if let alone = result.endAlone, alone != known {
          failures.append("without a handler: \(alone), not \(known)")
        }
      }
      if let alone = result.endAlone, result.end != alone {
        failures.append("ended by \(result.end), without a handler by \(alone)")
      }
      return failures
    }

    /// Compares registers and the crashing stack with what gdb reads in the core file of the same crash.
    private func compare(
      _ result: ARM64Machine.Result, _ programs: ARM64System.Programs, in directory: String
    ) async throws {
      let snapshot = try #require(try Self.snapshots(in: result.database).first)
      let path = try CoreFile.path(in: result.directory + "/handled")
      let gdb = try await GDB.view(
        core: path, of: programs.crashLab, directory: directory, armRoot: programs.tree)
      let core = try CoreComparison.snapshot(ofCore: path, directories: [programs.tree])
      #expect(core.exception?.signal == gdb.signal && core.exception?.code == gdb.signalCode)
      #expect(core.exception?.threadID == snapshot.exception?.threadID)
      #expect(Set(core.threads.map(\.id)) == Set(gdb.threads))
      let thread = try #require(snapshot.crashedThread)
      guard case .arm64(let context)? = thread.context else {
        Issue.record("\(result.testCase): no registers")
        return
      }
      let registers = context.x + [context.sp, context.pc]
      for (name, value) in zip(DebuggerView.registerNamesOfARM64, registers) {
        #expect(gdb.registers[name] == value, "\(result.testCase) \(name)")
      }
      #expect(snapshot.exception?.signal == gdb.signal)
      #expect(snapshot.exception?.code == gdb.signalCode)
      if let address = snapshot.exception?.address {
        #expect(address.value == gdb.signalAddress, "\(result.testCase)")
      }
      #expect(Set(snapshot.threads.map(\.id)) == Set(gdb.threads))
      // gdb finds no caller for an address outside every function.
      guard result.testCase.death.kind != "execute-data" else { return }
      var comparison = StackComparison()
      // The other libraries have names for exported functions only, and gdb uses the nearest name.
      comparison.comparesNames = { $0.path.hasSuffix("/crash-lab") }
      comparison.add(
        thread, of: snapshot,
        Stackwalker(snapshot: snapshot, symbols: SymbolSource(directories: [programs.tree])),
        gdb.frames)
      #expect(comparison.frameCount >= 3, "\(result.testCase)")
      // The report from the core file has the same frames.
      comparison.add(
        try #require(core.crashedThread), of: core,
        Stackwalker(snapshot: core, symbols: SymbolSource(directories: [programs.tree])),
        gdb.frames)
      let differences = comparison.differences.joined(separator: "\n")
      #expect(comparison.differences.isEmpty, "\(result.testCase)\n\(differences)")
      if snapshot.exception?.signal == SIGABRT { try summary(result, programs, gdb.frames) }
    }

    /// The summary on standard error has the frames of libc, whose return addresses are signed.
    private func summary(
      _ result: ARM64Machine.Result, _ programs: ARM64System.Programs,
      _ frames: [DebuggerView.Frame]
    ) throws {
      let snapshot = try #require(try LoggedReport.snapshots(in: result.standardError).first)
      let walker = Stackwalker(
        snapshot: snapshot, symbols: SymbolSource(directories: [programs.tree]))
      var entries = walker.frames(of: try #require(snapshot.crashedThread), limit: 64)[...]
      for frame in frames.prefix(8) {
        let index = entries.firstIndex { $0.address.value == frame.address }
        #expect(index != nil, "\(result.testCase) \(String(frame.address, radix: 16)): \(entries)")
        if let index { entries = entries[(index + 1)...] }
      }
    }

    /// The example that links only the handler has crashed too.
    private func handlerOnly(_ directory: String) throws {
      let end = ARM64Machine.Result.text(directory + "/end")
      // 128 + SIGTRAP: Swift's runtime ends the program by SIGTRAP on arm64.
      #expect(end == "133\n", "\(ARM64Machine.Result.text(directory + "/err"))")
      _ = try processIntermediateDumps(database: directory + "/database", storingSymbols: false)
      let snapshots = try Self.snapshots(in: directory + "/database")
      #expect(snapshots.count == 1)
      let line = snapshots.first?.client.annotations.first { $0.name == "line" }
      #expect(line?.value == .text("boom"))
      #expect(snapshots.first?.system.machine == "aarch64")
      #expect(snapshots.first?.system.processorModel?.isEmpty == false)
    }

    /// A crash makes no more system calls than on x86_64, where `SystemCallTests` bounds them.
    private func counted(
      _ directory: String, _ programs: ARM64System.Programs, build: BuildConfiguration
    ) async throws {
      let names = try KernelTrace.names(root: programs.root)
      func calls(_ count: Int) throws -> CountedCrash {
        let place = "\(directory)/\(count)"
        let report = try ReportDirectory(place + "/database")
        #expect(report.hasOneCompleteReport, "\(report.processed)")
        let trace = ARM64Machine.Result.text(place + "/trace")
        return CountedCrash(KernelTrace(trace, names: names).events)
      }
      let (few, many) = (try calls(15), try calls(79))
      // Both handlers have the same time limit.
      let more = ["--milliseconds", "15000"]
      let fewHere = try await CountedCrash(sleepers: 15, more, build: build)
      let manyHere = try await CountedCrash(sleepers: 79, more, build: build)
      let perThread = Double(many.total - few.total) / 64
      let perThreadHere = Double(manyHere.total - fewHere.total) / 64
      #expect(perThread > 4 && perThread <= SystemCallTests.perThread)
      #expect(perThread <= perThreadHere + 0.5, "\(many.calls) \(manyHere.calls)")
      let (alone, aloneHere) = (try calls(0), try await CountedCrash(more, build: build))
      #expect(alone.total > 100)
      // The crashing thread has 16 more registers that may be pointers (`RegisterMemory`), and each may need one more
      // read. /proc lists other mappings and modules.
      #expect(alone.total <= aloneHere.total + 16 + 10, "\(alone.calls) \(aloneHere.calls)")
      print(
        "system calls per thread: \(perThread) on arm64, \(perThreadHere) here;",
        "fixed: \(alone.total) and \(aloneHere.total)")
    }

    private static func snapshots(in database: String) throws -> [ProcessSnapshot] {
      try CrashReportDatabase(path: database).reports().map { report in
        let bytes = try Data(contentsOf: URL(fileURLWithPath: report.path))
        return try MinidumpReader.snapshot(of: [UInt8](bytes))
      }
    }

    /// Returns the programs and the kernel of a machine; skips the test if a package cannot be downloaded, except
    /// with `--full`.
    func system(_ machine: Machine) async throws -> (ARM64System.Programs, String) {
      do {
        return (
          try await ARM64System.shared.programs(machine.configuration),
          try await ARM64System.shared.kernel(machine.kernel)
        )
      } catch let missing as DebianPackage.Missing where !Part.isFull {
        try Test.cancel("\(missing)")
      }
    }
  }
#endif
