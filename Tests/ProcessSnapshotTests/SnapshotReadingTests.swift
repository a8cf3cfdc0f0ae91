import IntermediateDump
import ProcessSnapshot
import Testing

@Suite struct SnapshotReadingTests {
  private func snapshot(_ bytes: [UInt8]) throws -> ProcessSnapshot {
    ProcessSnapshot(reading: try IntermediateDumpDocument(parsing: bytes))
  }

  @Test func process() throws {
    let read = try snapshot(HandlerDump.bytes())
    #expect(read.architecture == .x86_64)
    #expect(read.reportID?.bytes == HandlerDump.reportID)
    #expect(read.process.identifier == "prog")
    #expect(read.process.processID == 900)
    // The value from the crash has precedence over that from the start.
    #expect(read.process.parentProcessID == 40)
    #expect(read.process.launchTime == 1_000)
    #expect(read.process.crashTime == 2_000)
    #expect(read.process.userTime == 1_000_003_000)
    #expect(read.process.systemTime == 2_000_004_000)
    #expect(read.process.oomScoreAdjustment == -250)
    #expect(read.process.statusText == Array("Name:\tprog\n".utf8))
    #expect(read.process.mapsText == Array(HandlerDump.mapsText.utf8))
    #expect(read.process.auxiliaryVector == [9, 9])
    #expect(read.system.processorCount == 4)
    #expect(read.annotations == ["a": "1", "b": ""])
    #expect(read.capture.isComplete)
    #expect(read.capture.damage == nil)
    #expect(read.capture.threadsFound == 3)
    #expect(read.capture.captureTime == 77)
  }

  @Test func aFaultInTheHandlersLastPartIsTold() throws {
    #expect(try snapshot(HandlerDump.bytes()).capture.sectionsAbandoned == 0)
    let failed = try snapshot(HandlerDump.bytes(captureFailed: true))
    #expect(failed.capture.sectionsAbandoned == DumpSection.capture.bit)
  }

  @Test func threads() throws {
    let read = try snapshot(HandlerDump.bytes())
    #expect(read.threads.map(\.id) == [901, 902, 903])
    #expect(read.threads.map(\.captureMethod) == [.crashed, .kernel, nil])
    let crashed = read.threads[0]
    #expect(crashed.name == "new\nline\\and\\q")
    #expect(crashed.state == "R")
    #expect(crashed.threadPointer == 0x7F00_AAAA_0000)
    #expect(crashed.blockedSignals == 3)
    #expect(crashed.stackRange == AddressRange(from: 0x7FFD_0000_0000, to: 0x7FFD_0000_4000))
    #expect(crashed.stackBytesOmitted == 12)
    #expect(crashed.stackPointer == 0x7FFD_0000_0100)
    #expect(crashed.instructionPointer == 0x40_0F08)
    #expect(crashed.stack.map(\.address) == [0x7FFD_0000_0080, 0x7FFD_0000_0140])
    #expect(crashed.stack.map(\.bytes.count) == [128, 64])
    #expect(read.threads[1].context == nil)
    #expect(read.threads[1].stackPointer == 0x1000)
    #expect(read.threads[1].instructionPointer == 0x2000)
    #expect(read.threads[2].context == nil)
  }

  @Test func theCrashingThreadInOnePartIsTheSameAsInTwo() throws {
    let whole = try snapshot(HandlerDump.bytes(isInOnePart: true))
    #expect(try snapshot(HandlerDump.bytes()) == whole)
    #expect(whole.threads[0].stack.count == 2)
  }

  @Test func aFirstPartAloneHasTheThread() throws {
    var dump = DumpTokens()
    dump.map(.exception) { $0.unsigned(.exceptionThreadID, 5, 4) }
    dump.map(.crashingThread) { dump in
      dump.unsigned(.threadID, 5, 4)
      dump.property(
        .generalRegisters, HandlerDump.generalRegisters(rsp: 0x2010, rip: 1, trap: 0, error: 0))
      dump.array(.stack) { $0.region(0x2000, [UInt8](repeating: 7, count: 64)) }
    }
    let read = try snapshot(dump.bytes)
    #expect(!read.capture.isComplete)
    #expect(read.exception?.context?.stackPointer == 0x2010)
    #expect(read.crashedThread?.stackRange == nil)
    #expect(read.crashedThread?.stack.map(\.address) == [0x2000])
  }

  @Test func whatLiesOutsideTheStackIsMemory() throws {
    var dump = DumpTokens()
    dump.map(.crashingThread) { dump in
      dump.unsigned(.threadID, 5, 4)
      dump.array(.stack) { dump in
        dump.region(0x1000, [UInt8](repeating: 1, count: 64))
        dump.region(0x1FE0, [UInt8](repeating: 2, count: 64))
        dump.region(0x2FE0, [UInt8](repeating: 3, count: 64))
      }
    }
    // A part of another thread is not added to the crashing one.
    dump.map(.crashingThread) { dump in
      dump.unsigned(.threadID, 6, 4)
      dump.text(.threadName, "other")
    }
    dump.map(.crashingThread) { dump in
      dump.text(.threadName, "own")
      dump.unsigned(.stackRegionStart, 0x2000)
      dump.unsigned(.stackRegionEnd, 0x3000)
      dump.array(.stack) { $0.region(0x2020, [UInt8](repeating: 4, count: 32)) }
    }
    dump.end()
    let read = try snapshot(dump.bytes)
    let thread = try #require(read.threads.first)
    #expect(thread.name == "own")
    #expect(thread.stack.map(\.address) == [0x2000, 0x2FE0])
    #expect(thread.stack.map(\.bytes.count) == [64, 32])
    #expect(read.memory.regions.map(\.address) == [0x1000, 0x1FE0, 0x2FE0])
    #expect(read.memory.regions.map(\.bytes.count) == [64, 96, 64])
  }

  @Test func registers() throws {
    let read = try snapshot(HandlerDump.bytes())
    guard case .x86_64(let context)? = read.threads[0].context else {
      Issue.record("no context")
      return
    }
    #expect((context.r8, context.r15) == (0xAB00, 0xAB07))
    #expect(
      (context.rdi, context.rsi, context.rbp, context.rbx) == (0xAB08, 0xAB09, 0xAB0A, 0xAB0B))
    #expect((context.rdx, context.rax, context.rcx) == (0xAB0C, 0xAB0D, 0xAB0E))
    #expect((context.rsp, context.rip, context.rflags) == (0x7FFD_0000_0100, 0x40_0F08, 0xAB11))
    #expect((context.cs, context.gs, context.fs, context.ss) == (0x33, 0x6B, 0x63, 0x2B))
    #expect(context.floatingPointState == [UInt8](repeating: 0x5A, count: 832))
  }

  @Test func arm64Registers() throws {
    var dump = DumpTokens(architecture: 2)
    dump.map(.crashingThread) { dump in
      dump.unsigned(.threadID, 5, 4)
      dump.property(
        .generalRegisters, (0..<34).flatMap { DumpTokens.integer(0x700 + UInt64($0), 8) })
      dump.property(
        .floatingPointState,
        DumpTokens.integer(0x4650_8001, 4) + DumpTokens.integer(528, 4) + DumpTokens.integer(1, 4)
          + DumpTokens.integer(2, 4) + (0..<512).map { UInt8(truncatingIfNeeded: $0) })
    }
    dump.end()
    guard case .arm64(let context)? = try snapshot(dump.bytes).threads.first?.context else {
      Issue.record("no context")
      return
    }
    #expect(context.x == (0..<31).map { 0x700 + $0 })
    #expect((context.sp, context.pc, context.pstate) == (0x71F, 0x720, 0x721))
    #expect((context.fpsr, context.fpcr) == (1, 2))
    #expect(context.vectorRegisters.count == 512)
    #expect(context.vectorRegisters[300] == 44)
  }

  @Test func exception() throws {
    let read = try snapshot(HandlerDump.bytes())
    let exception = try #require(read.exception)
    #expect(exception.threadID == 901)
    #expect(exception.signal == 11)
    #expect(exception.code == 1)
    #expect(exception.address == 0xBAD)
    #expect(exception.trapNumber == 14)
    #expect(exception.trapErrorCode == 6)
    #expect(exception.fatalMessage == "Fatal error: no\n")
    #expect(exception.abortMessage == nil)
    #expect(exception.signalInfo?.count == 128)
    #expect(exception.context == read.threads[0].context)
    #expect(read.crashedThread?.id == 901)
  }

  /// The signal, its code, and whether si_addr and the trap number apply to it.
  @Test(
    arguments: [
      (11, 1, true, true), (7, 2, true, true), (4, 2, true, true), (8, 1, true, true),
      (5, 1, true, true), (11, 0x80, false, true), (11, 0, false, false), (11, -1, false, false),
      (11, -6, false, false), (6, -6, false, false), (31, 1, false, false),
      (24, 0x80, false, false),
    ] as [(Int64, Int64, Bool, Bool)])
  func addressOnlyWhereTheKernelSetsIt(
    signal: Int64, code: Int64, hasAddress: Bool, hasTrap: Bool
  ) throws {
    let read = try snapshot(
      HandlerDump.bytes(signal: UInt64(bitPattern: signal), code: UInt64(bitPattern: code)))
    #expect(read.exception?.signal == Int32(signal))
    #expect(read.exception?.code == Int32(code))
    #expect((read.exception?.address == 0xBAD) == hasAddress)
    #expect((read.exception?.address == nil) == !hasAddress)
    #expect((read.exception?.trapNumber == 14) == hasTrap)
    #expect((read.exception?.trapErrorCode == nil) == !hasTrap)
  }

  @Test func memory() throws {
    let read = try snapshot(HandlerDump.bytes())
    #expect(
      read.memory.regions.map(\.address) == [0x40_0F00, 0x7FFD_0000_0080, 0x7FFD_0000_0140])
    #expect(read.memory.regions[0].bytes.count == 32)
    #expect(read.memory.bytes(at: 0x40_0F10, count: 1) == [0xDD])
    #expect(read.memory.bytes(at: 0x7FFD_0000_0140, count: 1) == [3])
  }

  @Test func crashedThreadIsFirstWhereverItWasWritten() throws {
    var dump = DumpTokens()
    dump.map(.exception) { $0.unsigned(.exceptionThreadID, 8, 4) }
    dump.array(.threads) { dump in
      for id in [7, 8, 9] as [UInt64] { dump.map(.thread) { $0.unsigned(.threadID, id, 4) } }
    }
    dump.end()
    #expect(try snapshot(dump.bytes).threads.map(\.id) == [8, 7, 9])
  }

  @Test func tornDumpGivesWhatItHolds() throws {
    let bytes = HandlerDump.bytes()
    let whole = try snapshot(bytes)
    var threads = 0
    var memory = 0
    var modules = 0
    for count in 32..<bytes.count {
      let read = try snapshot(Array(bytes[..<count]))
      #expect(!read.capture.isComplete)
      #expect(read.capture.damage != nil)
      // A longer prefix loses nothing that a shorter one had.
      #expect(read.threads.count >= threads)
      threads = read.threads.count
      let total = read.memory.regions.reduce(0) { $0 + $1.bytes.count }
      #expect(total >= memory)
      memory = total
      #expect(
        read.modules.allSatisfy { module in whole.modules.contains { $0.path == module.path } })
      modules = max(modules, read.modules.count)
      if let exception = read.exception { #expect([0, 901].contains(exception.threadID)) }
    }
    #expect((threads, modules) == (3, whole.modules.count))
  }

  /// Changes every sixth byte by each mask; the fuzzing target `tokens` makes all changes.
  @Test func anyByteMayChange() {
    var bytes = HandlerDump.bytes()
    let indices = Array(stride(from: 0, to: bytes.count, by: 2))
    var readable = 0
    for index in indices {
      let mask = [0xFF, 0x80, 0x01][index % 3] as UInt8
      bytes[index] ^= mask
      if let document = try? IntermediateDumpDocument(parsing: bytes) {
        let read = ProcessSnapshot(reading: document)
        if read.encoded() != nil { readable += 1 }
      }
      bytes[index] ^= mask
    }
    // Only the magic number, version, word size and header size make a dump unreadable.
    #expect(readable >= indices.count - 8)
  }

  @Test func unknownArchitectureIsTold() throws {
    var dump = DumpTokens(architecture: 7)
    dump.end()
    let read = try snapshot(dump.bytes)
    #expect(!read.capture.isComplete)
    #expect(read.capture.damage?.contains("architecture 7") == true)
  }
}
