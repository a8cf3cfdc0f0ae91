import CrashTestSupport
import Minidump
import ProcessSnapshot
import Testing

/// Dumps that exceed the limits of Breakpad's reader, which drops a whole list if it has one entry too many.
@Suite struct LimitsTests {
  @Test func threadsBeyondTheLimitAreLeftOutTheCrashingOneFirst() throws {
    var snapshot = ProcessSnapshot(architecture: .x86_64)
    snapshot.threads = (1...4100).map { ThreadSnapshot(id: $0) }
    snapshot.exception = ExceptionSnapshot(threadID: 4099)
    let dump = DumpBytes(try minidumpBytes(of: snapshot))
    let stream = try #require(dump.stream(3))
    #expect(dump.u32(stream.rva) == 4096)
    #expect(dump.u32(stream.rva + 4) == 4099)
    #expect(stream.size == 4 + 4096 * 48)
    let read = try MinidumpReader.snapshot(of: dump.bytes)
    #expect(read.capture.threadsUnlisted == 4)
    #expect(read.capture.modulesUnlisted == nil)
    #expect(read.capture.regionsUnlisted == nil)
    // Writing the dump again keeps the same number of unlisted threads.
    let again = try MinidumpReader.snapshot(of: minidumpBytes(of: read))
    #expect(again.capture.threadsUnlisted == 4)
  }

  @Test func regionsBeyondTheLimitKeepTheStacks() throws {
    var snapshot = ProcessSnapshot(architecture: .x86_64)
    var thread = ThreadSnapshot(id: 1)
    thread.stackPointer = 0x7000_0000_0000
    thread.stack = [MemoryRegion(address: 0x7000_0000_0000, bytes: Array(repeating: 1, count: 32))]
    snapshot.threads = [thread]
    let others = (0..<5000).map {
      MemoryRegion(address: Address(UInt64($0 + 1) << 16), bytes: [2, 3])
    }
    snapshot.memory = MemorySnapshot(joining: others + thread.stack)
    let bytes = try minidumpBytes(of: snapshot)
    let dump = DumpBytes(bytes)
    let stream = try #require(dump.stream(5))
    #expect(dump.u32(stream.rva) == 4096)
    let last = stream.rva + 4 + 4095 * 16
    #expect(dump.u64(last) == 0x7000_0000_0000)
    let read = try MinidumpReader.snapshot(of: bytes)
    #expect(read.threads.first?.stack == thread.stack)
    #expect(read.capture.regionsUnlisted == 5001 - 4096)
  }

  @Test func longRegionsAreCutIntoTouchingPieces() throws {
    let size = 64 << 20
    var snapshot = ProcessSnapshot(architecture: .x86_64)
    var bytes = [UInt8](repeating: 0, count: size + 100)
    bytes[size] = 0xAB
    snapshot.memory = MemorySnapshot(joining: [MemoryRegion(address: 0x10_0000, bytes: bytes)])
    let file = try minidumpBytes(of: snapshot)
    let dump = DumpBytes(file)
    let stream = try #require(dump.stream(5))
    let first = stream.rva + 4
    #expect(dump.u32(stream.rva) == 2)
    #expect(dump.u32(first + 8) == size)
    #expect(dump.u64(first + 16) == 0x10_0000 + UInt64(size))
    #expect(dump.u32(first + 24) == 100)
    #expect(dump.bytes[dump.u32(first + 28)] == 0xAB)
    #expect(try MinidumpReader.snapshot(of: file).memory == snapshot.memory)
  }

  @Test func modulesBeyondTheLimitKeepThoseThatRun() throws {
    var snapshot = ProcessSnapshot(architecture: .x86_64)
    snapshot.modules = (0..<3000).map {
      ModuleSnapshot(address: Address(UInt64($0 + 1) << 20), size: 0x1000, path: "/m\($0)")
    }
    var thread = ThreadSnapshot(id: 1)
    thread.instructionPointer = Address(2999 << 20 | 0x10)
    snapshot.threads = [thread]
    snapshot.process.executablePath = "/m2500"
    let dump = DumpBytes(try minidumpBytes(of: snapshot))
    let stream = try #require(dump.stream(4))
    #expect(dump.u32(stream.rva) == 2048)
    let addresses = (0..<2048).map { dump.u64(stream.rva + 4 + $0 * 108) }
    #expect(
      try MinidumpReader.snapshot(of: dump.bytes).capture.modulesUnlisted == 3000 - 2048)
    // The executable is the first module, because readers treat that as the main one.
    #expect(addresses[0] == 2501 << 20)
    #expect(addresses.contains(2999 << 20))
  }

  @Test func modulesNeverOverlapInTheFile() throws {
    var snapshot = ProcessSnapshot(architecture: .x86_64)
    snapshot.modules = [
      ModuleSnapshot(address: 0x1000, size: 0x5000, path: "/a"),
      ModuleSnapshot(address: 0x3000, size: 0x1000, path: "/b"),
      ModuleSnapshot(address: 0x9000, size: 0, path: "/c"),
      ModuleSnapshot(address: .highest &- 1, size: 16, path: "/d"),
      ModuleSnapshot(address: 0x7_0000_0000, size: 1 << 40, path: "/e"),
    ]
    let dump = DumpBytes(try minidumpBytes(of: snapshot))
    let stream = try #require(dump.stream(4))
    let modules = (0..<dump.u32(stream.rva)).map { stream.rva + 4 + $0 * 108 }
    #expect(modules.map { dump.u64($0) } == [0x1000, 0x3000, 0x7_0000_0000])
    #expect(modules.map { dump.u32($0 + 8) } == [0x2000, 0x1000, 0xFFFF_FFFF])
  }
}
