import IntermediateDump
import Minidump
import ProcessSnapshot
import Testing

/// Minidumps in the formats that Breakpad and Crashpad write on Linux.
@Suite struct ForeignDumpTests {
  typealias Dump = HandBuiltMinidump

  private static func amd64Context(rip: UInt64, rsp: UInt64) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 1232)
    bytes.replaceSubrange(0x30..<0x34, with: Dump.u32(0x10000F))
    bytes.replaceSubrange(0x98..<0xA0, with: Dump.u64(rsp))
    bytes.replaceSubrange(0xF8..<0x100, with: Dump.u64(rip))
    bytes[0x100] = 0x7F
    return bytes
  }

  private static func systemInfo(_ dump: inout Dump, architecture: Int, text: String) {
    let textRVA = dump.string(text)
    dump.stream(
      7,
      Dump.u16(architecture) + [0, 0, 0, 0, 8, 0] + Dump.u32(6) + Dump.u32(1) + Dump.u32(20)
        + Dump.u32(0x8201) + Dump.u32(textRVA) + [UInt8](repeating: 0, count: 28))
  }

  private static func thread(
    _ id: UInt32, stack: UInt64, size: UInt32, rva: UInt32, context: UInt32, contextSize: UInt32
  ) -> [UInt8] {
    Dump.u32(id) + [UInt8](repeating: 0, count: 20) + Dump.u64(stack) + Dump.u32(size)
      + Dump.u32(rva) + Dump.u32(contextSize) + Dump.u32(context)
  }

  private static func exception(_ id: UInt32, code: UInt32, flags: UInt32, context: UInt32)
    -> [UInt8]
  {
    Dump.u32(id) + Dump.u32(0) + Dump.u32(code) + Dump.u32(flags) + Dump.u64(0) + Dump.u64(0x1234)
      + [UInt8](repeating: 0, count: 8 + 120) + Dump.u32(1232) + Dump.u32(context)
  }

  private static func module(_ address: UInt64, name: UInt32, record: UInt32, size: UInt32)
    -> [UInt8]
  {
    Dump.u64(address) + Dump.u32(0x1000) + Dump.u32(0) + Dump.u32(0) + Dump.u32(name)
      + [UInt8](repeating: 0, count: 52) + Dump.u32(size) + Dump.u32(record)
      + [UInt8](repeating: 0, count: 24)
  }

  /// The dump has padded lists, no MiscInfo, the process ID in the copy of /proc/pid/status, and an RSDS record
  /// with the build ID.
  @Test func breakpad() throws {
    var dump = Dump()
    Self.systemInfo(&dump, architecture: 9, text: "Linux 6.1.20 #2 SMP x86_64")
    let stack = dump.blob([UInt8](0..<64))
    let context = dump.blob(Self.amd64Context(rip: 0x40_0010, rsp: 0x7000_0000))
    dump.stream(
      3,
      Dump.u32(1) + Dump.u32(0)
        + Self.thread(
          55, stack: 0x7000_0000, size: 64, rva: stack, context: context, contextSize: 1232))
    dump.stream(5, Dump.u32(1) + Dump.u64(0x7000_0000) + Dump.u32(64) + Dump.u32(stack))
    dump.stream(6, Self.exception(55, code: 11, flags: 1, context: context))
    let name = dump.string("/opt/main")
    let other = dump.string("/lib/other.so")
    // The build ID's bytes 1 to 16 as a GUID structure, age 0, and no name.
    let record = dump.blob(
      Array("RSDS".utf8) + [4, 3, 2, 1, 6, 5, 8, 7, 9, 10, 11, 12, 13, 14, 15, 16] + Dump.u32(0) + [
        0
      ]
    )
    let elf = dump.blob([0x4C, 0x45, 0x70, 0x42, 9, 8, 7])
    dump.stream(
      4,
      Dump.u32(2) + Dump.u32(0) + Self.module(0x40_0000, name: name, record: record, size: 25)
        + Self.module(0x10_0000, name: other, record: elf, size: 7))
    dump.stream(0x4767_0004, Array("Name:\tmain\nPid:\t777\nPPid:\t1\n".utf8))
    dump.stream(0x4767_0006, Array("/opt/main\0-x\0".utf8))
    dump.stream(
      0x4767_0003, Array("processor\t: 0\nmodel name\t: Foreign CPU @ 2 GHz\n\n".utf8))
    dump.stream(
      0x4767_0005, Array("DISTRIB_ID=Some\nDISTRIB_DESCRIPTION=\"Some Linux 12\"\n".utf8))
    dump.stream(
      0x4767_0009, Array("00400000-00401000 r-xp 00000000 08:01 5    /opt/main\n".utf8))
    let read = try MinidumpReader.snapshot(of: dump.file())
    #expect(read.process.processID == 777)
    #expect(read.process.arguments == ["/opt/main", "-x"])
    #expect(read.system.distribution == "Some Linux 12")
    #expect(read.system.processorModel == "Foreign CPU @ 2 GHz")
    #expect(read.process.parentProcessID == 1)
    #expect(read.process.executablePath == "/opt/main")
    #expect(read.process.crashTime == 1_600_000_000_000_000_000)
    #expect(read.system.kernelRelease == "6.1.20")
    #expect(read.system.kernelVersion == "#2 SMP")
    #expect(read.system.machine == "x86_64")
    #expect(read.system.processorCount == 8)
    #expect(read.modules.map(\.address) == [0x10_0000, 0x40_0000])
    #expect(read.modules.map(\.buildID) == [[9, 8, 7], Array(1...16)])
    #expect(read.mappings.map(\.path) == ["/opt/main"])
    #expect(read.exception?.signal == 11)
    #expect(read.exception?.address == 0x1234)
    #expect(read.threads.count == 1)
    #expect(read.threads.first?.stack == [MemoryRegion(address: 0x7000_0000, bytes: Array(0..<64))])
    #expect(read.threads.first?.instructionPointer == 0x40_0010)
    guard case .x86_64(let registers)? = read.threads.first?.context else {
      Issue.record("no context")
      return
    }
    #expect(registers.floatingPointState.count == 512)
    #expect(registers.floatingPointState.first == 0x7F)
    #expect(read.memory.word(at: 0x7000_0008) == 0x0F0E_0D0C_0B0A_0908)
    #expect(read.capture.isComplete)
  }

  /// The exception has its own context; annotations are in the module list, in the first version of the stream.
  @Test(arguments: [52, 64]) func crashpad(size: Int) throws {
    var dump = Dump()
    Self.systemInfo(&dump, architecture: 9, text: "#1 SMP x86_64")
    let handler = dump.blob(Self.amd64Context(rip: 0x1111, rsp: 0x2222))
    let crash = dump.blob(Self.amd64Context(rip: 0x3333, rsp: 0x4444))
    dump.stream(
      3,
      Dump.u32(1)
        + Self.thread(5, stack: 0, size: 0, rva: 0, context: handler, contextSize: 1232))
    dump.stream(6, Self.exception(5, code: 6, flags: UInt32(bitPattern: -6), context: crash))
    let name = dump.string("main")
    dump.stream(24, Dump.u32(1) + Dump.u32(5) + Dump.u64(UInt64(name)))
    let key = dump.utf8String("prod")
    let value = dump.utf8String("Crasher")
    let simple = dump.blob(Dump.u32(1) + Dump.u32(key) + Dump.u32(value))
    let objectName = dump.utf8String("breadcrumb")
    let objectValue = dump.utf8String("clicked")
    let objects = dump.blob(
      Dump.u32(2) + Dump.u32(objectName) + Dump.u16(1) + Dump.u16(0) + Dump.u32(objectValue)
        + Dump.u32(key) + Dump.u16(0x8000) + Dump.u16(0) + Dump.u32(objectValue))
    let module = dump.blob(
      Dump.u32(1) + [UInt8](repeating: 0, count: 16) + Dump.u32(28) + Dump.u32(objects))
    let modules = dump.blob(Dump.u32(1) + Dump.u32(0) + Dump.u32(28) + Dump.u32(module))
    let stream =
      Dump.u32(1) + [0x67, 0x45, 0x23, 0x01, 0xAB, 0x89, 0xDE, 0x4C] + [1, 2, 3, 4, 5, 6, 7, 8]
      + [UInt8](repeating: 0, count: 16) + Dump.u32(12) + Dump.u32(simple) + Dump.u32(16)
      + Dump.u32(modules) + [UInt8](repeating: 0, count: 12)
    dump.stream(0x4350_0001, Array(stream[..<size]))
    let read = try MinidumpReader.snapshot(of: dump.file())
    #expect(read.reportID?.description == "01234567-89ab-4cde-0102-030405060708")
    #expect(read.clientID == nil)
    #expect(read.annotations == ["prod": "Crasher", "breadcrumb": "clicked"])
    #expect(read.process.product == "Crasher")
    #expect(read.threads.first?.name == "main")
    #expect(read.threads.first?.context == read.exception?.context)
    #expect(read.exception?.context?.instructionPointer == 0x3333)
    #expect(read.exception?.signal == 6)
    #expect(read.exception?.code == -6)
    // The sender's process ID is not shown as an address.
    #expect(read.exception?.address == nil)
    #expect(read.system.kernelRelease == "6.1.20")
    #expect(read.system.kernelVersion == "#1 SMP x86_64")
    #expect(read.capture.isComplete)
  }

  /// A dump with one thread and its exception.
  private static func crash(
    platform: UInt32, flags: UInt32, code: UInt32, contextFlags: UInt32 = 0x10000F,
    address: UInt64 = 0x1234, parameters: [UInt64] = []
  ) -> Dump {
    var dump = Dump()
    let text = dump.string("")
    dump.stream(
      7,
      Dump.u16(9) + [0, 0, 0, 0, 8, 0] + Dump.u32(6) + Dump.u32(1) + Dump.u32(20)
        + Dump.u32(platform) + Dump.u32(text) + [UInt8](repeating: 0, count: 28))
    var bytes = amd64Context(rip: 0x40_0010, rsp: 0x7000_0000)
    bytes.replaceSubrange(0x30..<0x34, with: Dump.u32(contextFlags))
    let context = dump.blob(bytes)
    dump.stream(
      3, Dump.u32(1) + thread(5, stack: 0, size: 0, rva: 0, context: context, contextSize: 1232))
    let values = (0..<15).flatMap { Dump.u64($0 < parameters.count ? parameters[$0] : 0) }
    dump.stream(
      6,
      Dump.u32(5) + Dump.u32(0) + Dump.u32(code) + Dump.u32(flags) + Dump.u64(0) + Dump.u64(address)
        + Dump.u32(UInt32(parameters.count)) + Dump.u32(0) + values + Dump.u32(1232)
        + Dump.u32(context))
    return dump
  }

  @Test func breakpadsOlderDumpsHaveNoSiCodeNothingWasSentAndTheAddressStays() throws {
    let fault = try MinidumpReader.snapshot(
      of: Self.crash(platform: 0x8201, flags: 0, code: 11).file())
    let exception = try #require(fault.exception)
    #expect(exception.signal == 11 && exception.code == nil && exception.address == 0x1234)
    #expect(!exception.wasSent && exception.foreign == nil)
    let abort = try MinidumpReader.snapshot(
      of: Self.crash(platform: 0x8201, flags: 0, code: 6).file())
    #expect(abort.exception?.signal == 6 && abort.exception?.address == nil)
    // Crashpad records the code; 0 stands for kill(2).
    var crashpad = Self.crash(platform: 0x8201, flags: 0, code: 11)
    crashpad.stream(0x4350_0001, Dump.u32(1) + [UInt8](repeating: 0, count: 48))
    let sent = try MinidumpReader.snapshot(of: crashpad.file())
    #expect(sent.exception?.wasSent == true && sent.exception?.address == nil)
  }

  @Test func aContextWhoseFlagsNameNoPartAsOfMacOSHasItsRegisters() throws {
    let read = try MinidumpReader.snapshot(
      of: Self.crash(platform: 0x8101, flags: 1, code: 1, contextFlags: 0x10_0000).file())
    #expect(read.threads.first?.instructionPointer == 0x40_0010)
    #expect(read.exception?.context?.stackPointer == 0x7000_0000)
  }

  @Test func exceptionsOfWindowsAndMacOSHaveTheirOwnNamesCodesAndAddresses() throws {
    func foreign(_ dump: Dump) throws -> (ForeignException, Address?) {
      let read = try MinidumpReader.snapshot(of: dump.file())
      let exception = try #require(read.exception)
      #expect(exception.signal == nil && exception.code == nil)
      return (try #require(exception.foreign), exception.address)
    }
    let (windows, accessed) = try foreign(
      Self.crash(platform: 2, flags: 0, code: 0xC000_0005, parameters: [1, 0x45]))
    #expect(windows.system == .windows && windows.name == "EXCEPTION_ACCESS_VIOLATION")
    #expect(windows.access == .write && accessed == 0x45 && windows.parameters == [1, 0x45])
    let (overflow, place) = try foreign(
      Self.crash(platform: 2, flags: 1, code: 0xC000_00FD, parameters: [0, 7]))
    #expect(overflow.name == "EXCEPTION_STACK_OVERFLOW" && place == 0x1234)
    #expect(overflow.access == nil)
    let (unknown, _) = try foreign(Self.crash(platform: 2, flags: 1, code: 0xE000_1234))
    #expect(unknown.name == nil && unknown.code == 0xE000_1234)
    let (mac, fault) = try foreign(Self.crash(platform: 0x8101, flags: 1, code: 1))
    #expect(mac.name == "EXC_BAD_ACCESS" && mac.detail == "KERN_INVALID_ADDRESS")
    #expect(fault == 0x1234)
    let (crash, _) = try foreign(
      Self.crash(platform: 0x8101, flags: 0, code: 0, parameters: [10, 0x600_0000, 0]))
    #expect(crash.name == "EXC_CRASH" && crash.detail == "SIGABRT")
    let (other, _) = try foreign(Self.crash(platform: 0x8204, flags: 0, code: 9))
    #expect(other.system == .other(0x8204) && other.name == nil)
  }

  /// LLDB writes an exception stream for each thread that had stopped.
  @Test(
    arguments: [
      ([5, 11], 2), ([11, 5], 1), ([19, 6, 5], 2), ([6, 11], 1), ([0, 5], 2), ([.max, 11], 2),
      ([2, 19], 1),
    ] as [([UInt32], UInt32)])
  func theExceptionThatEndedTheProcessIsUsed(_ codes: [UInt32], _ thread: UInt32) throws {
    var dump = Dump()
    for (index, code) in codes.enumerated() {
      dump.stream(6, Self.exception(UInt32(index + 1), code: code, flags: 0, context: 0))
    }
    let exception = try #require(try MinidumpReader.snapshot(of: dump.file()).exception)
    #expect(exception.threadID == thread)
    #expect(exception.signal == Int32(codes[Int(thread) - 1]))
  }

  @Test func dumpWithoutCrashHasNoSignal() throws {
    var dump = Dump()
    dump.stream(6, Self.exception(5, code: 0xFFFF_FFFF, flags: 0, context: 0))
    let read = try MinidumpReader.snapshot(of: dump.file())
    #expect(read.exception?.signal == nil)
    #expect(read.exception?.code == nil)
  }

  @Test func memory64List() throws {
    var dump = Dump()
    let bytes = dump.blob(Array(1...24))
    dump.stream(
      9,
      Dump.u64(2) + Dump.u64(UInt64(bytes)) + Dump.u64(0x1000) + Dump.u64(16) + Dump.u64(0x9000)
        + Dump.u64(8))
    let read = try MinidumpReader.snapshot(of: dump.file())
    #expect(
      read.memory.regions == [
        MemoryRegion(address: 0x1000, bytes: Array(1...16)),
        MemoryRegion(address: 0x9000, bytes: Array(17...24)),
      ])
  }

  /// Breakpad's older layout, and the newer one truncated after the floating-point state.
  @Test(arguments: [true, false]) func arm64Contexts(isOld: Bool) throws {
    var dump = Dump()
    Self.systemInfo(&dump, architecture: isOld ? 0x8003 : 12, text: "Linux 6.1.20 #2 SMP aarch64")
    let registers = (0..<33).flatMap { Dump.u64(0x500 + $0) }
    let vectors = (0..<512).map { UInt8(truncatingIfNeeded: $0 * 5) }
    let context =
      isOld
      ? Dump.u64(0x8000_0006) + registers + Dump.u32(0x6000_0000) + Dump.u32(1) + Dump.u32(2)
        + vectors
      : Dump.u32(0x400007) + Dump.u32(0x6000_0000) + registers + vectors + Dump.u32(2) + Dump.u32(1)
    #expect(context.count == (isOld ? 796 : 792))
    let place = dump.blob(context)
    dump.stream(
      3,
      Dump.u32(1)
        + Self.thread(
          5, stack: 0, size: 0, rva: 0, context: place, contextSize: UInt32(context.count)))
    let read = try MinidumpReader.snapshot(of: dump.file())
    guard case .arm64(let decoded)? = read.threads.first?.context else {
      Issue.record("no context")
      return
    }
    #expect(decoded.x == (0..<31).map { 0x500 + $0 })
    #expect((decoded.sp, decoded.pc) == (0x51F, 0x520))
    #expect(decoded.pstate == 0x6000_0000)
    #expect((decoded.fpsr, decoded.fpcr) == (1, 2))
    #expect(decoded.vectorRegisters == vectors)
  }

  @Test func memoryInfoListStandsInForMaps() throws {
    var dump = Dump()
    let entry =
      Dump.u64(0x1000) + Dump.u64(0x1000) + Dump.u32(4) + Dump.u32(0) + Dump.u64(0x2000)
      + Dump.u32(0x1000) + Dump.u32(0x20) + Dump.u32(0x40000) + Dump.u32(0)
    dump.stream(16, Dump.u32(16) + Dump.u32(48) + Dump.u64(1) + entry)
    let read = try MinidumpReader.snapshot(of: dump.file())
    #expect(
      read.mappings == [
        MemoryMapping(
          start: 0x1000, end: 0x3000, protection: [.read, .execute], isPrivate: false)
      ])
  }
}
