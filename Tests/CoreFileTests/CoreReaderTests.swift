import CoreFile
import IntermediateDump
import ProcessSnapshot
import Testing

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

  @Test func otherFilesAndProcessorsAreRefused() throws {
    func code(_ bytes: [UInt8]) -> CoreError.Code? {
      do throws(CoreError) {
        _ = try CoreReader.snapshot(of: DumpBytes(bytes), readsFiles: false)
        return nil
      } catch {
        return error.code
      }
    }
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
