import CrashAnalysis
import CrashCatalogue
import CrashTestSupport
import Foundation
import IntermediateDump
import Minidump
import ProcessSnapshot
import Testing

/// Dumps of real crashes: the minidump contains all that was captured, and other readers see the same.
@Suite struct RealDumpTests {
  struct Crash: Sendable, CustomTestStringConvertible {
    let kind: String
    let signal: Int32
    let name: String
    let place: CrashPlace
    var testDescription: String { kind }
  }

  static let crashes = [
    Crash(kind: "null-read", signal: 11, name: "SIGSEGV", place: .pthread),
    Crash(kind: "abort", signal: 6, name: "SIGABRT", place: .main),
    Crash(kind: "fatal-error", signal: 4, name: "SIGILL", place: .dispatch),
    Crash(kind: "seccomp", signal: 31, name: "SIGSYS", place: .main),
    Crash(kind: "stack-overflow", signal: 11, name: "SIGSEGV", place: .main),
  ]

  /// One crash: the handler's dump, and the minidump that is made of it.
  private struct Dumped {
    let victim: Victim
    let processID: Int32
    let snapshot: ProcessSnapshot
    let minidump: String
    let bytes: [UInt8]
  }

  private static func dump(_ crash: Crash) async throws -> Dumped {
    let victim = try await Victim(.asTested)
    let child = try await victim.die(crash.kind, on: crash.place)
    #expect(child.end.signal == crash.signal)
    let directory = victim.database + "/pending-serialized-dumps/"
    let names = try victim.pendingFiles().filter {
      !$0.hasSuffix(".run") && !$0.hasSuffix(".fifo")
    }
    try #require(names.count == 1, "\(names)")
    let pending = try Data(contentsOf: URL(fileURLWithPath: directory + names[0]))
    let document = try IntermediateDumpDocument(parsing: [UInt8](pending))
    #expect(document.isComplete)
    let snapshot = ProcessSnapshot(reading: document)
    let path = try victim.directory("minidump") + "/crash.dmp"
    let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_EXCL, 0o600)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    try MinidumpWriter.write(snapshot, to: descriptor)
    return Dumped(
      victim: victim, processID: child.processID, snapshot: snapshot, minidump: path,
      bytes: [UInt8](try Data(contentsOf: URL(fileURLWithPath: path))))
  }

  /// The number of modules is exact even if the handler's table has no room for all.
  @Test func moreModulesThanTheTableHolds() async throws {
    let alone = try await Self.dump(Self.crashes[0]).snapshot.modules.count
    let modules = try await VictimModules(copies: 4_200)
    let directory = try TemporaryDirectory()
    let database = directory.path + "/database"
    let child = try await ChildProcess.run(
      try await BuiltProducts.shared.executable("crash-lab", .asTested),
      ["null-read", "--condition", "many-modules", "--database", database], in: directory.path,
      environment: ["CRASHLAB_MODULES": modules.directory])
    #expect(child.end.signal == SIGSEGV, "\(child)")
    let reports = try ReportDirectory(database)
    #expect(reports.hasOneCompleteReport, "\(reports.processed)")
    let snapshot = try #require(reports.snapshots.first)
    #expect(snapshot.modules.count == 4_096)
    #expect(snapshot.capture.modulesOmitted == UInt64(alone + 4_200 - 4_096))
    #expect(snapshot.capture.modulesUnlisted == UInt64(alone + 4_200 - 2_048))
    #expect(Verdict(of: snapshot).cause?.kind == "null-dereference")
  }

  @Test(arguments: crashes)
  func whatWasCapturedIsWhatIsReadBack(_ crash: Crash) async throws {
    let dumped = try await Self.dump(crash)
    let read = try MinidumpReader.snapshot(of: dumped.bytes)
    let snapshot = dumped.snapshot
    #expect(read.process == snapshot.process)
    #expect(read.system == snapshot.system)
    #expect(read.exception == snapshot.exception)
    #expect(read.threads.count == snapshot.threads.count)
    for (left, right) in zip(read.threads, snapshot.threads) { #expect(left == right) }
    #expect(read.modules == snapshot.modules)
    #expect(read.linkMap == snapshot.linkMap)
    #expect(read.memory == snapshot.memory)
    #expect(read.capture == snapshot.capture)
    #expect(read == snapshot)
  }

  @Test func limitsUseSystemCallsAndTheLinkersListAreCaptured() async throws {
    let dumped = try await Self.dump(Self.crashes[0])
    let process = dumped.snapshot.process
    #expect(process.processID == UInt32(dumped.processID))
    let arguments = try #require(process.arguments)
    #expect(arguments.first == dumped.victim.executable)
    #expect(arguments.dropFirst().first == "null-read")
    // A child inherits the limits of this process.
    var limit = rlimit()
    #expect(unsafe getrlimit(__rlimit_resource_t(7), &limit) == 0)
    #expect(process.limits?.openFiles?.soft == UInt64(limit.rlim_cur))
    #expect(process.limits?.openFiles?.hard == UInt64(limit.rlim_max))
    #expect(try #require(process.descriptorCount) >= 3)
    #expect(process.mappingCount.map { Int($0) } == dumped.snapshot.mappings.count)
    let text = try String(contentsOfFile: "/proc/sys/vm/max_map_count", encoding: .utf8)
    #expect(process.mappingLimit == UInt64(text.trimmingCharacters(in: .newlines)))
    #expect(try #require(process.uptime) < 60_000_000_000)
    let system = dumped.snapshot.system
    #expect(system.loadAverage?.split(separator: " ").count == 5)
    #expect(system.compiler?.isEmpty == false)
    #expect(String(decoding: system.releaseText ?? [], as: UTF8.self).contains("ID="))
    #expect(String(decoding: system.processorText ?? [], as: UTF8.self).hasPrefix("processor"))
    for thread in dumped.snapshot.threads {
      #expect(thread.schedulingPolicy != nil && thread.niceValue != nil)
      if thread.name?.hasPrefix("sleeper-") == true {
        #expect(thread.systemCallNumber != nil, "\(thread.systemCall ?? "")")
        #expect(thread.captureMethod == .stopped)
      }
    }
    let map = try #require(dumped.snapshot.linkMap)
    #expect(map.version >= 1 && map.state == 0)
    #expect(!map.dynamicData.isEmpty && map.dynamicData.count % 16 == 0)
    let executable = try #require(
      dumped.snapshot.modules.first { $0.path == dumped.victim.executable })
    // A position-independent executable is linked for address 0.
    #expect(
      map.entries.first
        == LinkMap.Entry(
          address: executable.address, dynamicSection: map.dynamicSection, name: ""))
    #expect(executable.contains(map.dynamicSection))
    #expect(map.entries.contains { $0.name.contains("libc.so") })
    #expect(dumped.snapshot.module(containing: map.breakpoint)?.address == map.loaderBase)
  }

  @Test func aTrappedSystemCallIsNamed() async throws {
    let dumped = try await Self.dump(Self.crashes[3])
    let call = try #require(dumped.snapshot.exception?.systemCall)
    #if arch(x86_64)
      #expect(call.architecture == 0xC000_003E)
      // acct(2), which the victim's filter traps.
      #expect(call.number == 163)
    #else
      #expect(call.architecture == 0xC000_00B7)
      #expect(call.number == 89)
    #endif
    #expect(call.address == dumped.snapshot.crashedThread?.instructionPointer)
    let read = try MinidumpReader.snapshot(of: dumped.bytes)
    #expect(read.exception?.systemCall == call)
  }

  @Test(.needs(.lldb), arguments: crashes)
  func lldbSeesThreadsStopReasonModulesAndMemory(_ crash: Crash) async throws {
    let dumped = try await Self.dump(crash)
    let snapshot = dumped.snapshot
    let view = try await LLDB.view(
      dump: dumped.minidump, directory: try dumped.victim.directory("view"))
    #expect(view.threads.sorted() == snapshot.threads.map(\.id).sorted())
    #expect(view.crashedThread == snapshot.exception?.threadID)
    let thread = try #require(snapshot.crashedThread)
    // After an overflow, the stack pointer is in the guard page; the captured piece is the one above it.
    let stack = try #require(thread.stackPointer)
    let piece = try #require(thread.stack.first { $0.range.clampedEnd > stack &+ 64 })
    let start = max(stack, piece.address)
    let lldb = try #require(OutsideTool.lldb.path)
    let child = try await ChildProcess.run(
      lldb,
      [
        "--no-lldbinit", "--batch", "-o", "target create --core \"\(dumped.minidump)\"", "-o",
        "thread info", "-o", "image list -u -h -f", "-o",
        "memory read --size 8 --format x --count 8 \(start)",
      ], in: try dumped.victim.directory("lldb"), environment: ["DEBUGINFOD_URLS": ""])
    let output = child.standardOutput
    #expect(child.end.exitCode == 0)
    #expect(output.contains("stop reason = signal \(crash.name)"), "\(output)")
    var seen: [UInt64: String] = [:]
    for match in output.matches(of: #/\] +([0-9A-F-]{8,}) +0x([0-9a-f]{16}) /#) {
      seen[try #require(UInt64(match.2, radix: 16))] =
        match.1.replacingOccurrences(of: "-", with: "").lowercased()
    }
    for module in snapshot.modules where !module.buildID.isEmpty {
      let buildID = module.buildID.map { String(format: "%02x", $0) }.joined()
      #expect(seen[module.address.value] == buildID, "\(module.path)\n\(output)")
    }
    let words = output.matches(of: /0x([0-9a-f]{16})(?=[ \n])/).suffix(8).compactMap {
      UInt64($0.1, radix: 16)
    }
    #expect(
      words == (0..<8).compactMap { snapshot.memory.word(at: start &+ $0 &* 8) }, "\(output)")
  }

  @Test(
    .enabled("pip install symbolic==8.8.0 'setuptools<80'") {
      try await PythonModule.isWanted("symbolic.minidump")
    }, arguments: crashes)
  func breakpadsProcessorReadsEveryList(_ crash: Crash) async throws {
    let dumped = try await Self.dump(crash)
    let script = """
      import sys, symbolic.minidump
      state = symbolic.minidump.ProcessState.from_minidump(sys.argv[1])
      print(state.crashed, state.crash_reason.split()[0], state.requesting_thread)
      for module in state.modules(): print('module', hex(module.addr), module.code_id)
      for thread in state.threads():
        print('thread', thread.thread_id, hex(thread.get_frame(0).return_address))
      """
    let child = try await ChildProcess.run(
      try #require(OutsideTool.python3.path), ["-W", "ignore", "-c", script, dumped.minidump],
      in: try dumped.victim.directory("breakpad"))
    #expect(child.end.exitCode == 0)
    #expect(child.standardError == "")
    let lines = child.standardOutput.split(separator: "\n").map { String($0) }
    #expect(lines.first == "True \(crash.name) 0", "\(lines)")
    let modules = dumped.snapshot.modules.map { module in
      "module \(module.address) "
        + module.buildID.map { String(format: "%02x", $0) }.joined()
    }
    #expect(Set(lines.filter { $0.hasPrefix("module") }) == Set(modules))
    let threads = dumped.snapshot.threads.map { thread in
      "thread \(thread.id) \(thread.instructionPointer ?? 0)"
    }
    #expect(lines.filter { $0.hasPrefix("thread") } == threads)
  }

  @Test(
    .enabled("pip install minidump==0.0.24") {
      try await PythonModule.isWanted("minidump.minidumpfile")
    }, arguments: crashes)
  func pyPIsMinidumpReadsItWithoutAComplaint(_ crash: Crash) async throws {
    let dumped = try await Self.dump(crash)
    let thread = try #require(dumped.snapshot.crashedThread)
    let piece = try #require(thread.stack.first)
    // The library logs "PEB parsing error!" for every dump that is not from Windows.
    let script = """
      import sys, logging
      complaints = []
      class Handler(logging.Handler):
        def emit(self, record): complaints.append(record.getMessage())
      logging.getLogger().addHandler(Handler(logging.WARNING))
      from minidump.minidumpfile import MinidumpFile
      dump = MinidumpFile.parse(sys.argv[1])
      print([m for m in complaints if m != 'PEB parsing error!'])
      print([t.ThreadId for t in dump.threads.threads])
      print(len(dump.modules.modules), dump.misc_info.ProcessId)
      print(dump.exception.exception_records[0].ExceptionRecord.ExceptionCode_raw)
      print(dump.get_reader().read(int(sys.argv[2]), 64).hex())
      """
    let child = try await ChildProcess.run(
      try #require(OutsideTool.python3.path),
      ["-c", script, dumped.minidump, "\(piece.address.value)"],
      in: try dumped.victim.directory("python"))
    #expect(child.end.exitCode == 0, "\(child.standardError)")
    let lines = child.standardOutput.split(separator: "\n").map { String($0) }
    let snapshot = dumped.snapshot
    #expect(
      lines == [
        "[]", "[\(snapshot.threads.map { "\($0.id)" }.joined(separator: ", "))]",
        "\(snapshot.modules.count) \(dumped.processID)", "\(crash.signal)",
        piece.bytes.prefix(64).map { String(format: "%02x", $0) }.joined(),
      ])
  }
}

/// Python modules that some tests need.
enum PythonModule {
  /// True if the module is installed; also true in CI, where a test must fail if the module is missing.
  static func isWanted(_ name: String) async throws -> Bool {
    if OutsideTool.mustBeThere { return true }
    guard let python = OutsideTool.python3.path else { return false }
    let directory = try TemporaryDirectory()
    let child = try await ChildProcess.run(
      python, ["-c", "import \(name)"], in: try directory.subdirectory("import"))
    return child.end.exitCode == 0
  }
}
