import CoreFile
import CrashTestSupport
import IntermediateDump
import ProcessSnapshot
import Testing

@testable import CrashAnalysis
@testable import CrashReport

@Suite struct CoreReaderTests {
  private func snapshot(_ core: SyntheticCore) throws -> ProcessSnapshot {
    try CoreReader.snapshot(of: DumpBytes(core.bytes), readsFiles: false)
  }

  @Test func aCoreFileOfX86_64ProcessExceptionThreadsMemory() throws {
    let snapshot = try snapshot(SyntheticCore())
    #expect(snapshot.architecture == .x86_64 && snapshot.capture.isComplete)
    #expect(snapshot.process.processID == 4001 && snapshot.process.parentProcessID == 77)
    #expect(snapshot.process.executablePath == "/opt/victim")
    #expect(snapshot.process.userTime == 2_500_000_000)
    #expect(snapshot.process.systemTime == 250_000_000)
    #expect(snapshot.system.pageSize == 4096 && snapshot.system.machine == "x86_64")
    // A core file lacks these facts.
    #expect(snapshot.process.crashTime == nil && snapshot.system.kernelRelease == nil)
    let exception = try #require(snapshot.exception)
    #expect(exception.threadID == 4001 && exception.signal == 11 && exception.code == 1)
    #expect(exception.address == 0xDEA_D000)
    #expect(exception.trapNumber == nil && exception.trapErrorCode == nil)
    #expect(snapshot.threads.map(\.id) == [4001, 4002])
    #expect(snapshot.threads.map(\.name) == ["victim", nil])
    #expect(snapshot.threads.map(\.systemCallNumber) == [nil, 202])
    guard case .x86_64(let context) = snapshot.threads[0].context else {
      Issue.record("no registers")
      return
    }
    // Registers by their offsets in user_regs_struct.
    #expect(context.r15 == 0xA000 && context.rbp == 0xA004 && context.rbx == 0xA005)
    #expect(context.r8 == 0xA009 && context.rcx == 0xA00B && context.rdx == 0xA00C)
    #expect(context.rsi == 0xA00D && context.rdi == 0xA00E && context.rflags == 0xA012)
    #expect(context.rip == 0x40_1000 && context.rsp == SyntheticCore.stack + 0x1000)
    #expect(context.cs == 0xA011 && context.ss == 0xA014 && context.fs == 0xA019)
    #expect(context.gs == 0xA01A && context.floatingPointState.first == 0x7F)
    #expect(snapshot.threads[0].threadPointer == 0xA015)
    #expect(snapshot.threads[0].blockedSignals == 0x4000)
    let stack = try #require(snapshot.threads[0].stack.first)
    #expect(stack.address == Address(SyntheticCore.stack + 0x1000 - 128))
    #expect(stack.count == 0x1080 && stack.bytes.allSatisfy { $0 == 0x5A })
    #expect(snapshot.memory.word(at: Address(SyntheticCore.stack)) == 0x5A5A_5A5A_5A5A_5A5A)
    // The kernel left this page out of the file.
    #expect(snapshot.memory.word(at: 0x40_1000) == nil)
  }

  @Test func aCoreFileOfArm64() throws {
    var core = SyntheticCore()
    core.isARM64 = true
    let snapshot = try snapshot(core)
    #expect(snapshot.architecture == .arm64)
    guard case .arm64(let context) = snapshot.threads[0].context else {
      Issue.record("no registers")
      return
    }
    #expect(context.x[0] == 0xA000 && context.x[30] == 0xA01E && context.pstate == 0xA021)
    #expect(context.sp == SyntheticCore.stack + 0x1000 && context.pc == 0x40_1000)
    #expect(context.vectorRegisters.count == 512 && context.vectorRegisters.first == 0x7F)
  }

  @Test func argumentsAndEnvironmentAreNoMemoryOfTheReport() throws {
    var core = SyntheticCore()
    let start = core.addInitialStack(
      arguments: ["victim", "--token", "argument-secret"], environment: ["TOKEN=environment-secret"]
    )
    // The kernel maps the vDSO anywhere, even directly after the stack.
    let end = SyntheticCore.stack + UInt64(core.segments[2].bytes.count)
    core.segments.append(.init(address: end, bytes: [UInt8](repeating: 0x33, count: 0x1000)))
    let snapshot = try snapshot(core)
    #expect(snapshot.process.arguments == ["victim", "--token", "argument-secret"])
    #expect(
      snapshot.memory.regions.filter { $0.address >= Address(SyntheticCore.stack) }.map(\.range)
        == [
          AddressRange(from: Address(SyntheticCore.stack), to: Address(start)),
          AddressRange(start: Address(end), byteCount: 0x1000),
        ])
    let stack = try #require(snapshot.threads[0].stack.first)
    #expect(stack.end == Address(start) && snapshot.threads[0].stack.count == 1)
    #expect(snapshot.threads[0].stackRange?.clampedEnd == Address(end))
  }

  @Test func theStringsAreFoundWithoutTheArgumentCount() throws {
    var core = SyntheticCore()
    let start = core.addInitialStack(
      arguments: ["victim", "argument-secret"], environment: ["TOKEN=environment-secret"])
    // The program has overwritten the argument count.
    core.segments[2].bytes[Int(start - SyntheticCore.stack)] = 9
    let random = core.auxiliaryVector[core.auxiliaryVector.count - 3]
    let snapshot = try snapshot(core)
    #expect(snapshot.process.commandLine == nil)
    #expect(snapshot.threads[0].stack.last?.end == Address(random))
  }

  @Test func mappingsAndModulesComeFromSegmentsNtFileAndTheHeadersInMemory() throws {
    let snapshot = try snapshot(SyntheticCore())
    #expect(snapshot.mappings.map(\.path) == ["/opt/victim", "/opt/victim", ""])
    #expect(snapshot.mappings[1].protection == [.read, .execute])
    #expect(snapshot.mappings[1].fileOffset == 4096)
    let module = try #require(snapshot.modules.first)
    #expect(snapshot.modules.count == 1 && module.path == "/opt/victim")
    #expect(module.buildID == SyntheticCore.buildID && module.source == .program)
    #expect(module.size == 0x2000 && module.hasCode(at: 0x40_1800))
    // Without the module's first page, its build ID is unknown.
    var other = SyntheticCore()
    other.segments[0].bytes = []
    let unknown = try self.snapshot(other)
    #expect(unknown.modules.map(\.path) == ["/opt/victim"])
    #expect(unknown.modules.first?.buildID == [])
  }

  /// Segments of an image as lld and mold lay them out: several map the file from its start on.
  ///
  /// - Parameter distance: the number of bytes from one segment to the next.
  private func foldedCore(distance: UInt64, hasHeaders: Bool) -> SyntheticCore {
    var image = SyntheticCore.image
    var segment = SyntheticCore.segment(
      type: 1, flags: 5, offset: 0x800, address: distance + 0x800, fileSize: 0x400,
      memorySize: 0x400)
    image.replaceSubrange(120..<176, with: segment)
    segment = SyntheticCore.segment(
      type: 1, flags: 6, offset: 0x400, address: 2 * distance + 0x400, fileSize: 0x80,
      memorySize: 0x80)
    image[56] = 4
    // The fourth header follows the note's.
    image.replaceSubrange(232..<288, with: segment)
    var core = SyntheticCore()
    let base: UInt64 = 0x5555_5000_0000
    core.segments.removeFirst(2)
    core.files = []
    core.auxiliaryVector = [3, base + 64, 6, 4096, 0, 0]
    for (index, flags) in ([4, 5, 6] as [UInt32]).enumerated() {
      let start = base + distance * UInt64(index)
      core.segments.append(
        .init(
          address: start, flags: flags, bytes: hasHeaders ? image : [], memorySize: 0x1000))
      core.files.append(.init(start: start, end: start + 0x1000, path: "/opt/victim"))
    }
    return core
  }

  @Test(arguments: [0x1000, 0x20_0000] as [UInt64], [true, false])
  func anImageThatMapsTheStartOfItsFileSeveralTimesIsOneModule(
    _ distance: UInt64, _ hasHeaders: Bool
  ) throws {
    let snapshot = try snapshot(foldedCore(distance: distance, hasHeaders: hasHeaders))
    let module = try #require(snapshot.modules.first)
    #expect(snapshot.modules.map(\.path) == ["/opt/victim"] && module.source == .program)
    guard hasHeaders else { return }
    #expect(module.buildID == SyntheticCore.buildID)
    #expect(module.hasCode(at: module.address &+ (distance + 0x900)))
    #expect(!module.hasCode(at: module.address &+ (2 * distance + 0x410)))
    // What is between the segments belongs to no module.
    #expect(
      snapshot.module(containing: module.address &+ 0x1800) == (distance == 0x1000 ? module : nil))
  }

  /// The program and the library are those of the dynamic linker's list, with or without an auxiliary vector.
  @Test(arguments: [true, false])
  func withoutNtFileModulesHaveTheNamesOfTheLinkersList(_ hasVector: Bool) throws {
    var core = SyntheticCore.linked
    if !hasVector { core.auxiliaryVector = [] }
    let snapshot = try snapshot(core)
    #expect(snapshot.modules.map(\.address) == [0x40_0000, 0x7F00_0000_0000])
    #expect(snapshot.modules.map(\.path) == ["/opt/victim", "/opt/lib.so"])
    #expect(snapshot.modules.map(\.source) == [.program, .linker])
    #expect(snapshot.modules.allSatisfy { $0.buildID == SyntheticCore.buildID })
    #expect(snapshot.process.executablePath == "/opt/victim")
    #expect(snapshot.linkMap?.entries.map(\.name) == ["", "/opt/lib.so"])
    #expect(snapshot.mapping(containing: 0x40_1010)?.path == "/opt/victim")
    #expect(snapshot.mapping(containing: 0x7F00_0000_1010)?.fileOffset == 0x1000)
  }

  /// The kernel puts the name of the executed file on the stack, relative to the directory where the program started.
  @Test func withoutNtFileTheProgramsPathIsThatOfExec() throws {
    var core = SyntheticCore.linked
    core.command = ""
    core.executedFile = "./bin/victim"
    _ = core.addInitialStack(arguments: ["other"], environment: ["A=b", "PWD=/srv", "C=d"])
    #expect(try snapshot(core).process.executablePath == "/srv/bin/victim")
    core = SyntheticCore.linked
    core.command = ""
    #expect(try snapshot(core).modules.map(\.path) == ["victim", "/opt/lib.so"])
  }

  /// For example, in two namespaces of the dynamic linker.
  @Test(arguments: [true, false]) func twoImagesOfOneFileAreTwoModules(_ hasHeaders: Bool) throws {
    var core = SyntheticCore()
    if !hasHeaders { core.segments[0].bytes = [] }
    for index in 0..<2 {
      var segment = core.segments[index]
      segment.address += 0x2000
      core.segments.append(segment)
      var file = core.files[index]
      (file.start, file.end) = (file.start + 0x2000, file.end + 0x2000)
      core.files.append(file)
    }
    let snapshot = try snapshot(core)
    #expect(snapshot.modules.map(\.address) == [0x40_0000, 0x40_2000])
    #expect(snapshot.modules.map(\.path) == ["/opt/victim", "/opt/victim"])
  }

  /// The kernel may leave out the first page of a mapped file, so that it is not known whether the file is an image.
  ///
  /// The last file is an image that the process only reads.
  @Test func aMappedFileWithoutCodeIsNoModule() throws {
    var core = SyntheticCore()
    core.segments += [
      .init(address: 0x7F00_0000_0000, flags: 6, memorySize: 0x1000),
      .init(address: 0x7F00_0001_0000, flags: 4, memorySize: 0x1000),
      .init(address: 0x7F00_0001_1000, flags: 5, memorySize: 0x1000),
      .init(address: 0x7F00_0002_0000, flags: 4, bytes: SyntheticCore.image, memorySize: 0x1000),
    ]
    core.files += [
      .init(start: 0x7F00_0000_0000, end: 0x7F00_0000_1000, path: "/var/db/run"),
      .init(start: 0x7F00_0001_0000, end: 0x7F00_0001_1000, path: "/opt/lib.so"),
      .init(start: 0x7F00_0001_1000, end: 0x7F00_0001_2000, pages: 1, path: "/opt/lib.so"),
      .init(start: 0x7F00_0002_0000, end: 0x7F00_0002_1000, path: "/opt/read.so"),
    ]
    let snapshot = try CoreReader.snapshot(of: DumpBytes(core.bytes), readsFiles: false)
    #expect(snapshot.modules.map(\.path) == ["/opt/victim", "/opt/lib.so"])
  }

  @Test func aCoreFileOfAProcessThatLivedOnIsADumpWithoutACrash() throws {
    var core = SyntheticCore()
    core.signalInformation = nil
    core.threads[0].signal = 0
    // gcore stops the process by SIGSTOP, which does not end it.
    var stopped = SyntheticCore()
    stopped.signalInformation?[0] = 19
    for core in [core, stopped] {
      let snapshot = try snapshot(core)
      #expect(snapshot.request?.kind == .coreFile)
      #expect(snapshot.exception?.signal == nil && snapshot.exception?.threadID == 4001)
    }
  }

  /// A breakpoint of a debugger, and a trap instruction of the program.
  @Test(arguments: [(0x90, true), (0xCC, false)] as [(UInt8, Bool)])
  func aCoreFileOfADebuggerWithSIGTRAPIsACrashOnlyAtATrapInstruction(
    _ code: UInt8, _ isStop: Bool
  ) throws {
    var core = SyntheticCore()
    core.isFromDebugger = true
    core.signalInformation?[0] = 5
    core.threads[0].instructionPointer = 0x40_1801
    core.segments[1].bytes = [UInt8](repeating: code, count: 0x1000)
    let stopped = try snapshot(core)
    #expect((stopped.request?.kind == .coreFile) == isStop)
    #expect(stopped.exception?.signal == (isStop ? nil : 5))
    #expect(stopped.capture.isCoreFile && stopped.threads.count == 2)
    // Only a process that ended by this signal has such a core file of the kernel's.
    core.isFromDebugger = false
    #expect(try snapshot(core).exception?.signal == 5)
    core.isFromDebugger = true
    core.signalInformation?[0] = 11
    #expect(try snapshot(core).exception?.signal == 11)
  }

  @Test func withoutNtSiginfoTheSignalIsThatOfTheFirstThreadAndItsCodeIsNotKnown() throws {
    var core = SyntheticCore()
    core.signalInformation = nil
    let exception = try #require(try snapshot(core).exception)
    #expect(exception.signal == 11 && exception.code == nil && exception.address == nil)
  }

  /// Where a core file has the signal, and the thread that crashed.
  struct SignalNotes: Sendable {
    /// `pr_cursig` of the threads 4001, 4002 and 4003.
    let signals: [UInt16]
    /// The signals in the NT_SIGINFO notes of these threads; nil for no note.
    let informed: [UInt8?]
    let crashed: UInt32
    let code: Int32?
    /// The threads that waited in a system call.
    var waiting: Set<UInt32> = []
  }

  @Test(arguments: [
    // The kernel and gdb: all threads have the signal, and the crashed one comes first.
    SignalNotes(signals: [11, 11, 11], informed: [11, nil, nil], crashed: 4001, code: 1),
    SignalNotes(signals: [11, 11, 11], informed: [11, 19, 19], crashed: 4001, code: 1),
    // Other writers, which sort the threads by ID.
    SignalNotes(signals: [0, 11, 0], informed: [nil, 11, nil], crashed: 4002, code: 1),
    SignalNotes(signals: [0, 0, 11], informed: [nil, nil, nil], crashed: 4003, code: nil),
    SignalNotes(signals: [11, 11, 11], informed: [19, nil, 11], crashed: 4003, code: 1),
    SignalNotes(signals: [0, 0, 0], informed: [nil, 6, nil], crashed: 4002, code: 1),
    SignalNotes(signals: [19, 11, 19], informed: [19, 11, 19], crashed: 4002, code: 1),
    // A writer that puts NT_SIGINFO after all threads.
    SignalNotes(signals: [0, 11, 0], informed: [nil, nil, 11], crashed: 4002, code: 1),
    // Nothing shows which thread crashed.
    SignalNotes(signals: [11, 11, 11], informed: [nil, nil, nil], crashed: 4001, code: nil),
    SignalNotes(
      signals: [11, 11, 11], informed: [nil, nil, nil], crashed: 4002, code: nil,
      waiting: [4001, 4003]),
    // The signal was sent to threads that all waited.
    SignalNotes(
      signals: [11, 11, 11], informed: [nil, nil, nil], crashed: 4001, code: nil,
      waiting: [4001, 4002, 4003]),
    SignalNotes(
      signals: [11, 11, 11], informed: [11, nil, nil], crashed: 4001, code: 1, waiting: [4001]),
  ])
  func theCrashedThreadIsTheOneWithTheSignal(_ notes: SignalNotes) throws {
    var core = SyntheticCore()
    core.signalInformation = nil
    core.threads = (0..<3).map { index in
      var thread = SyntheticCore.Thread(id: 4001 + UInt32(index), signal: notes.signals[index])
      if let signal = notes.informed[index] {
        var information = SyntheticCore.segmentationFault
        information[0] = signal
        thread.signalInformation = information
      }
      if notes.waiting.contains(thread.id) { thread.call = (34, -514) }
      return thread
    }
    let snapshot = try snapshot(core)
    let exception = try #require(snapshot.exception)
    #expect(exception.threadID == notes.crashed && snapshot.threads[0].id == notes.crashed)
    #expect(exception.code == notes.code && snapshot.request == nil)
    #expect(Set(snapshot.threads.map(\.id)) == [4001, 4002, 4003])
  }

  /// Without NT_SIGINFO, another thread may have crashed, or the signal was sent.
  @Test(arguments: [true, false]) func theCauseIsCertainOnlyWithNtSiginfo(_ isKnown: Bool) throws {
    var core = SyntheticCore()
    core.threads[0].signal = 4
    core.threads[1].signal = 4
    core.signalInformation?[0] = 4
    core.signalInformation?[8] = 2
    // ud2.
    core.segments[1].bytes = [0x0F, 0x0B] + [UInt8](repeating: 0x90, count: 0xFFE)
    if !isKnown { core.signalInformation = nil }
    let cause = try #require(Verdict(of: try snapshot(core)).cause)
    #expect(cause.kind == "trap-instruction")
    #expect(cause.certainty == (isKnown ? .certain : .likely))
  }

  @Test func aMainThreadThatASignalEndedInASystemCallWasNotBusy() throws {
    var core = SyntheticCore()
    core.threads[0].call = (230, -516)
    let snapshot = try snapshot(core)
    #expect(snapshot.threads[0].systemCallNumber == 230)
    #expect(MainThreadActivity(of: snapshot) == .blocked(230, "clock_nanosleep"))
  }

  @Test func aCoreFileThatIsCutOffIsReadAsFarAsItGoesAndSaysSo() throws {
    let core = SyntheticCore()
    let whole = core.bytes
    let cut = try CoreReader.snapshot(
      of: DumpBytes(Array(whole.dropLast(0x1800))), readsFiles: false)
    #expect(!cut.capture.isComplete)
    #expect(
      cut.capture.damage
        == "the core file is cut off: it lacks all or a part of 1 of 3 segments, 6144 bytes")
    #expect(cut.modules.first?.buildID == SyntheticCore.buildID)
    #expect(cut.memory.word(at: Address(SyntheticCore.stack + 0x7F8)) != nil)
    #expect(cut.memory.word(at: Address(SyntheticCore.stack + 0x800)) == nil)
    // If the file is truncated within its notes, there may be no thread.
    for size in stride(from: 0, to: whole.count, by: 97) {
      let part = DumpBytes(Array(whole.prefix(size)))
      guard let snapshot = try? CoreReader.snapshot(of: part, readsFiles: false) else { continue }
      #expect(!snapshot.capture.isComplete && !snapshot.threads.isEmpty, "\(size)")
    }
  }

  /// The kernel writes the section header with the number of program headers at the end of the file.
  @Test func aCutCoreFileWithManyProgramHeadersKeepsAllOfThem() throws {
    var core = SyntheticCore()
    (core.hasExtendedCount, core.hasSectionHeaderAtEnd) = (true, true)
    core.segments += (0..<700).map { index in
      .init(address: 0x1_0000_0000 + UInt64(index) * 0x2000, flags: 4, memorySize: 0x1000)
    }
    let whole = core.bytes
    let last = Address(0x1_0000_0000 + 699 * 0x2000)
    for missing in [0, 64] {
      let snapshot = try CoreReader.snapshot(
        of: DumpBytes(Array(whole.dropLast(missing))), readsFiles: false)
      #expect(snapshot.mappings.count == core.segments.count)
      #expect(snapshot.mapping(containing: last)?.start == last)
      #expect(snapshot.capture.isComplete == (missing == 0))
      #expect((snapshot.capture.damage?.contains("section header") ?? false) == (missing > 0))
    }
    let cut = try CoreReader.snapshot(
      of: DumpBytes(Array(whole.dropLast(64 + 0x1800))), readsFiles: false)
    #expect(cut.capture.damage?.contains("a part of 1 of 703 segments") == true)
  }

  private func code(_ bytes: [UInt8]) -> CoreError.Code? { refusal(bytes)?.code }

  private func refusal(_ bytes: [UInt8]) -> CoreError? {
    do throws(CoreError) {
      _ = try CoreReader.snapshot(of: DumpBytes(bytes), readsFiles: false)
      return nil
    } catch {
      return error
    }
  }

  @Test(
    arguments: [
      (243, 2, 1, "RISC-V"), (40, 1, 1, "ARM (32 bits)"), (3, 1, 1, "x86 (32 bits)"),
      (62, 1, 1, "32 bits"), (22, 2, 2, "IBM Z"), (21, 2, 2, "big-endian"),
      (999, 2, 1, "machine 999"),
    ] as [(UInt16, UInt8, UInt8, String)])
  func coreFilesOfOtherProcessorsAreRefusedByName(
    _ machine: UInt16, _ bits: UInt8, _ order: UInt8, _ name: String
  ) throws {
    var bytes = SyntheticCore().bytes
    (bytes[4], bytes[5]) = (bits, order)
    let low = (UInt8(truncatingIfNeeded: machine), UInt8(truncatingIfNeeded: machine >> 8))
    (bytes[18], bytes[19]) = order == 2 ? (low.1, low.0) : low
    if order == 2 { (bytes[16], bytes[17]) = (0, 4) }
    #expect(CoreReader.isCore(bytes[..<18]))
    let error = try #require(refusal(bytes))
    #expect(error.code == .unsupportedArchitecture && error.context.contains(name), "\(error)")
  }

  @Test(arguments: [
    ("VMCOREINFO", "kernel"), ("QEMU", "QEMU"), ("Xen", "Xen"), ("FreeBSD", "FreeBSD"),
    ("NetBSD-CORE", "NetBSD"),
  ])
  func coreFilesOfKernelsAndMachinesAreRefusedByName(_ owner: String, _ name: String) throws {
    var core = SyntheticCore()
    core.foreignNote = owner
    let error = try #require(refusal(core.bytes))
    #expect(error.code == .notAProcess && error.context.contains(name), "\(error)")
    // Notes of another owner, such as a debugger, are ignored.
    core.foreignNote = "GNU"
    #expect(try snapshot(core).threads.count == 2)
  }

  @Test func otherFilesAreRefused() throws {
    #expect(code([]) == .notACore)
    var bytes = SyntheticCore().bytes
    bytes[16] = 3
    #expect(code(bytes) == .notACore)
    bytes[16] = 4
    bytes[18] = 243
    #expect(code(bytes) == .unsupportedArchitecture)
    bytes[18] = 62
    bytes[4] = 1
    #expect(code(bytes) == .unsupportedArchitecture)
    var empty = SyntheticCore()
    empty.threads = []
    #expect(code(empty.bytes) == .noThreads)
  }
}
