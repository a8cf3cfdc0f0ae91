import CrashTestSupport
import IntermediateDump
import Minidump
import ProcessSnapshot
import Testing

/// Compares the bytes of every stream with offsets and values written by hand.
@Suite struct StreamLayoutTests {
  private let dump: DumpBytes

  init() throws {
    dump = DumpBytes(try minidumpBytes(of: SyntheticProcess.snapshot()))
  }

  @Test func header() {
    #expect(dump.bytes[0..<4].elementsEqual("MDMP".utf8))
    #expect(dump.u32(4) == 42899)
    #expect(dump.u32(8) == 17)
    #expect(dump.u32(12) == 32)
    #expect(dump.u32(16) == 0)
    #expect(dump.u32(20) == 1_700_000_777)
    #expect(dump.u64(24) == 0)
    #expect(
      dump.streamTypes == [
        7, 15, 3, 24, 6, 4, 0x4350_0001, 0x4767_0003, 0x4767_0004, 0x4767_0005, 0x4767_0006,
        0x4767_0008, 0x4767_0009, 0x4767_000A, 0x504D_0003, 16, 5,
      ])
  }

  @Test func everyStreamIsAlignedAndInside() {
    for type in dump.streamTypes {
      guard let stream = dump.stream(type) else { continue }
      #expect(stream.rva % 4 == 0)
      #expect(stream.rva >= 32 + 17 * 12)
      #expect(stream.rva + stream.size <= dump.bytes.count)
    }
  }

  @Test func systemInfo() throws {
    let stream = try #require(dump.stream(7))
    #expect(stream.size == 56)
    #expect(dump.u16(stream.rva) == 9)
    // The processor's family is 25, its model 17, its stepping 3.
    #expect(dump.u16(stream.rva + 2) == 25)
    #expect(dump.u16(stream.rva + 4) == 0x1103)
    #expect(dump.u8(stream.rva + 6) == 2)
    #expect(dump.u8(stream.rva + 7) == 0)
    #expect((2...4).map { dump.u32(stream.rva + $0 * 4) } == [6, 18, 0])
    #expect(dump.u32(stream.rva + 20) == 0x8201)
    #expect(dump.string(dump.u32(stream.rva + 24)) == "Linux 6.18.0-3-amd64 #1 SMP Debian x86_64")
    #expect(dump.bytes[stream.rva + 28..<stream.rva + 56].allSatisfy { $0 == 0 })
  }

  @Test func miscInfo() throws {
    let stream = try #require(dump.stream(15))
    #expect(stream.size == 832)
    // SizeOfInfo; the flags for process ID, times and build string; the ID; the start, from the age and the time
    // of the crash; the user time of 2.6 s and the system time of 1.4 s, rounded.
    let expected = [832, 0x103, 4001, 1_700_000_773, 3, 1]
    #expect(expected.indices.map { dump.u32(stream.rva + $0 * 4) } == expected)
    #expect(dump.bytes[stream.rva + 24..<stream.rva + 232].allSatisfy { $0 == 0 })
    let build = (0..<48).map { UInt16(dump.u16(stream.rva + 232 + $0 * 2)) }
    #expect(
      String(decoding: build.prefix { $0 != 0 }, as: UTF16.self)
        == "Linux 6.18.0-3-amd64 #1 SMP Debian; x86_64")
    let debugBuild = (0..<40).map { UInt16(dump.u16(stream.rva + 752 + $0 * 2)) }
    #expect(
      String(decoding: debugBuild.prefix { $0 != 0 }, as: UTF16.self)
        == "swift-postmortem.amd64,linux")
  }

  @Test func threadList() throws {
    let stream = try #require(dump.stream(3))
    #expect(stream.size == 4 + 4 * 48)
    #expect(dump.u32(stream.rva) == 4)
    let threads = (0..<4).map { stream.rva + 4 + $0 * 48 }
    #expect(threads.map { dump.u32($0) } == [4001, 4002, 4003, 4004])
    // Crashpad's priorities: 20 - nice, then the policy's rank (other 3, FIFO 5); the deadline policy has none.
    #expect(threads.map { dump.u32($0 + 12) } == [0x0319, 0x0514, 0, 0])
    #expect(threads.allSatisfy { dump.u64($0 + 4) == 0 })
    #expect(threads.map { dump.u64($0 + 16) } == [0x7F00_1111_0740, 0x7F00_2222_0740, 0, 0])
    // The piece that contains the stack pointer, not the one at the other end.
    #expect(dump.u64(threads[0] + 24) == 0x7FFD_0000_0080)
    #expect(dump.u32(threads[0] + 32) == 0x400)
    #expect(threads.map { dump.u32($0 + 40) } == [1232, 1232, 1232, 0])
    #expect(threads[..<3].allSatisfy { dump.u32($0 + 44) % 16 == 0 })
    #expect(dump.u32(threads[3] + 44) == 0)
  }

  @Test func stacksAreInTheMemoryList() throws {
    let threads = try #require(dump.stream(3))
    let memory = try #require(dump.stream(5))
    #expect(dump.u32(memory.rva) == 5)
    #expect(memory.size == 4 + 5 * 16)
    let regions = (0..<5).map { memory.rva + 4 + $0 * 16 }
    #expect(
      regions.map { dump.u64($0) } == [
        0x5555_5555_5000, 0x7F10_0000_0080, 0x7F20_0000_0000, 0x7FFD_0000_0080, 0x7FFD_0000_2000,
      ])
    #expect(regions.map { dump.u32($0 + 8) } == [0x100, 0x200, 0x100, 0x400, 0x40])
    #expect(regions.allSatisfy { dump.u32($0 + 12) % 16 == 0 })
    #expect(dump.u32(regions[3] + 12) == dump.u32(threads.rva + 4 + 36))
    #expect(dump.u32(regions[1] + 12) == dump.u32(threads.rva + 4 + 48 + 36))
    let code = dump.u32(regions[0] + 12)
    #expect(dump.bytes[code..<code + 0x100].allSatisfy { $0 == 0x90 })
    let top = dump.u32(regions[4] + 12)
    #expect(dump.bytes[top..<top + 0x40].allSatisfy { $0 == 0x22 })
    // The memory list is the last stream, and the memory itself follows all streams.
    #expect(dump.streamTypes.last == 5)
    #expect(regions.allSatisfy { dump.u32($0 + 12) >= memory.rva + memory.size })
  }

  @Test func amd64Context() throws {
    let threads = try #require(dump.stream(3))
    let context = dump.u32(threads.rva + 4 + 44)
    #expect(dump.u32(context + 0x30) == 0x10000F)
    #expect(dump.u32(context + 0x34) == 0x1F80)
    #expect((0..<6).map { dump.u16(context + 0x38 + $0 * 2) } == [0x33, 0, 0, 0x63, 0x6B, 0x2B])
    #expect(dump.u32(context + 0x44) == 0x10246)
    let base: UInt64 = 0x11 << 56
    // The order is rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 to r15, rip.
    let registers: [UInt64] = [
      base | 1, base | 3, base | 4, base | 2, 0x7FFD_0000_0100, 0x7FFD_0000_0120, base | 5,
      base | 6, base | 8, base | 9, base | 10, base | 11, base | 12, base | 13, base | 14,
      base | 15, 0x5555_5555_5040,
    ]
    #expect(registers.indices.map { dump.u64(context + 0x78 + $0 * 8) } == registers)
    for index in 0..<512 where !(24..<28).contains(index) {
      #expect(dump.bytes[context + 0x100 + index] == UInt8(truncatingIfNeeded: index &* 7 &+ 0x11))
    }
    #expect(dump.bytes[context + 0x300..<context + 0x4D0].allSatisfy { $0 == 0 })
  }

  @Test func threadReadThroughTheKernelHasItsPointersOnly() throws {
    let threads = try #require(dump.stream(3))
    let context = dump.u32(threads.rva + 4 + 2 * 48 + 44)
    #expect(dump.u32(context + 0x30) == 0x100001)
    #expect(dump.u64(context + 0x98) == 0x7F20_0000_0010)
    #expect(dump.u64(context + 0xF8) == 0x7F00_0000_1234)
  }

  @Test func threadNames() throws {
    let stream = try #require(dump.stream(24))
    #expect(stream.size == 4 + 3 * 12)
    #expect(dump.u32(stream.rva) == 3)
    let entries = (0..<3).map { stream.rva + 4 + $0 * 12 }
    #expect(entries.map { dump.u32($0) } == [4001, 4002, 4003])
    let names = entries.map { dump.string(Int(dump.u64($0 + 4))) }
    #expect(names == ["main, née ✗", "worker", "blocked"])
  }

  @Test func exception() throws {
    let stream = try #require(dump.stream(6))
    let threads = try #require(dump.stream(3))
    #expect(stream.size == 168)
    #expect(dump.u32(stream.rva) == 4001)
    #expect(dump.u32(stream.rva + 8) == 11)
    #expect(dump.u32(stream.rva + 12) == 1)
    #expect(dump.u64(stream.rva + 16) == 0)
    #expect(dump.u64(stream.rva + 24) == 0xDEAD_BEE0)
    #expect(dump.u32(stream.rva + 32) == 0)
    #expect(dump.u32(stream.rva + 160) == 1232)
    #expect(dump.u32(stream.rva + 164) == dump.u32(threads.rva + 4 + 44))
  }

  @Test func moduleList() throws {
    let stream = try #require(dump.stream(4))
    #expect(stream.size == 4 + 2 * 108)
    #expect(dump.u32(stream.rva) == 2)
    let module = stream.rva + 4
    #expect(dump.u64(module) == 0x5555_5555_4000)
    #expect(dump.u32(module + 8) == 0x20_3000)
    #expect(dump.string(dump.u32(module + 20)) == "/opt/victim")
    #expect(dump.u32(module + 76) == 24)
    let record = dump.u32(module + 80)
    // The signature 0x4270454c in little-endian order.
    #expect(dump.bytes[record..<record + 4].elementsEqual([0x4C, 0x45, 0x70, 0x42]))
    #expect(dump.bytes[record + 4..<record + 24].elementsEqual(0xA0..<0xB4))
    #expect(dump.u32(module + 108 + 76) == 7)
    #expect(dump.string(dump.u32(module + 108 + 20)) == "/usr/lib/libgone.so")
  }

  @Test func crashpadInfo() throws {
    let stream = try #require(dump.stream(0x4350_0001))
    #expect(stream.size == 64)
    #expect(dump.u32(stream.rva) == 1)
    // 01234567-89ab-4cde-8f01-23456789abcd as a GUID structure.
    let report: [UInt8] = [
      0x67, 0x45, 0x23, 0x01, 0xAB, 0x89, 0xDE, 0x4C, 0x8F, 0x01, 0x23, 0x45, 0x67, 0x89, 0xAB,
      0xCD,
    ]
    #expect(dump.bytes[stream.rva + 4..<stream.rva + 20].elementsEqual(report))
    #expect(dump.bytes[stream.rva + 20..<stream.rva + 24].elementsEqual([0x98, 0xBA, 0xDC, 0xFE]))
    let dictionary = dump.u32(stream.rva + 40)
    #expect(dump.u32(stream.rva + 36) == 4 + 4 * 8)
    #expect(dump.u32(dictionary) == 4)
    var entries: [String: String] = [:]
    for index in 0..<4 {
      let entry = dictionary + 4 + index * 8
      let key = try #require(dump.utf8String(dump.u32(entry)))
      entries[key] = dump.utf8String(dump.u32(entry + 4))
    }
    #expect(
      entries == [
        "prod": "Victim Server", "ver": "the program's own", "Grüße": "Ω🙂", "empty": "",
      ])
    #expect(dump.bytes[stream.rva + 52..<stream.rva + 64].allSatisfy { $0 == 0 })
  }

  @Test(arguments: [
    (0x4767_0003, SyntheticProcess.snapshot().system.processorText),
    (0x4767_0004, SyntheticProcess.snapshot().process.statusText),
    (0x4767_0005, SyntheticProcess.snapshot().system.releaseText),
    (0x4767_0006, SyntheticProcess.snapshot().process.commandLine),
    (0x4767_0008, SyntheticProcess.snapshot().process.auxiliaryVector),
    (0x4767_0009, SyntheticProcess.snapshot().process.mapsText),
  ])
  func copies(type: Int, contents: [UInt8]?) throws {
    let stream = try #require(dump.stream(type))
    #expect(Array(dump.bytes[stream.rva..<stream.rva + stream.size]) == contents)
  }

  @Test func memoryInfoList() throws {
    let stream = try #require(dump.stream(16))
    #expect(stream.size == 16 + 5 * 48)
    #expect(dump.u32(stream.rva) == 16)
    #expect(dump.u32(stream.rva + 4) == 48)
    #expect(dump.u64(stream.rva + 8) == 5)
    let first = stream.rva + 16
    #expect(dump.u64(first) == 0x5555_5555_4000)
    #expect(dump.u64(first + 24) == 0x2000)
    #expect(dump.u32(first + 32) == 0x1000)
    #expect(dump.u32(first + 36) == 0x20)
    #expect(dump.u32(first + 40) == 0x20000)
    #expect(dump.u32(first + 48 + 36) == 0x04)
  }

  @Test func extensionIsAnIntermediateDump() throws {
    let stream = try #require(dump.stream(0x504D_0003))
    let bytes = Array(dump.bytes[stream.rva..<stream.rva + stream.size])
    #expect(bytes[0..<6].elementsEqual("PMDUMP".utf8))
    let document = try IntermediateDumpDocument(parsing: bytes)
    #expect(document.isComplete)
    #expect(document.root.map(.exception)?.text(.abortMessage) == "free(): double free detected")
    #expect(document.root.map(.process)?.signed(.launchTime) == 1_700_000_000_123_456_789)
  }
}
