import CrashTestSupport
import Minidump
import ProcessSnapshot
import Testing

/// The stream LinuxDsoDebug, compared with the offsets in Breakpad's `minidump_format.h`.
@Suite struct LinkMapTests {
  typealias Dump = HandBuiltMinidump

  @Test func isWrittenAsBreakpadWritesIt() throws {
    let dump = DumpBytes(try minidumpBytes(of: SyntheticProcess.snapshot()))
    let stream = try #require(dump.stream(0x4767_000A))
    // An MDRawDebug64 with C's padding, then the dynamic section.
    #expect(stream.size == 40 + 32)
    #expect(stream.rva % 8 == 0)
    #expect(dump.u32(stream.rva) == 1)
    #expect(dump.u32(stream.rva + 8) == 2)
    #expect(dump.u32(stream.rva + 12) == 0)
    #expect(
      [16, 24, 32].map { dump.u64(stream.rva + $0) } == [
        0x7F00_AAAA_0010, 0x7F00_AAAA_0000, 0x5555_5575_6000,
      ])
    #expect(
      dump.bytes[stream.rva + 40..<stream.rva + 72].elementsEqual(
        Array(1...16) + [UInt8](repeating: 0, count: 16)))
    // MDRawLinkMap64 entries of 24 bytes each.
    let entries = dump.u32(stream.rva + 4)
    #expect(entries % 8 == 0)
    #expect(dump.u64(entries) == 0x5555_5555_4000)
    #expect(dump.string(dump.u32(entries + 8)) == "")
    #expect(dump.u64(entries + 16) == 0x5555_5575_6000)
    #expect(dump.u64(entries + 24) == 0x7F00_0000_0000)
    #expect(dump.string(dump.u32(entries + 24 + 8)) == "/usr/lib/libgone.so")
    #expect(dump.u64(entries + 24 + 16) == 0x7F00_0000_F000)
  }

  @Test func aListWithoutEntriesLeadsNowhere() throws {
    var snapshot = ProcessSnapshot(architecture: .x86_64)
    snapshot.linkMap = LinkMap()
    let bytes = try minidumpBytes(of: snapshot)
    let dump = DumpBytes(bytes)
    let stream = try #require(dump.stream(0x4767_000A))
    #expect(stream.size == 40)
    #expect(dump.u32(stream.rva + 4) == 0xFFFF_FFFF)
    #expect(try MinidumpReader.snapshot(of: bytes).linkMap == LinkMap())
  }

  /// Breakpad's C++ writer pads the structure; writers in Rust do not.
  @Test(arguments: [true, false]) func isReadFromOthers(isPacked: Bool) throws {
    var dump = Dump()
    let padding: [UInt8] = isPacked ? [] : [0xEE, 0xEE, 0xEE, 0xEE]
    let name = dump.string("/lib/ld.so")
    let entries = dump.blob(
      Dump.u64(0x10) + Dump.u32(name) + padding + Dump.u64(0x20) + Dump.u64(0x30) + Dump.u32(name)
        + padding + Dump.u64(0x40))
    let head = Dump.u32(1) + Dump.u32(entries) + Dump.u32(2) + padding
    dump.stream(
      0x4767_000A,
      head + Dump.u64(0xB0) + Dump.u64(0xB1) + Dump.u64(0xB2) + [UInt8](repeating: 6, count: 48))
    let read = try MinidumpReader.snapshot(of: dump.file())
    var expected = LinkMap()
    expected.version = 1
    (expected.breakpoint, expected.loaderBase, expected.dynamicSection) = (0xB0, 0xB1, 0xB2)
    expected.dynamicData = [UInt8](repeating: 6, count: 48)
    expected.entries = [
      .init(address: 0x10, dynamicSection: 0x20, name: "/lib/ld.so"),
      .init(address: 0x30, dynamicSection: 0x40, name: "/lib/ld.so"),
    ]
    #expect(read.linkMap == expected)
    #expect(read.capture.isComplete)
  }

  @Test(arguments: [8, 39, 40] as [Int]) func damageIsTold(size: Int) throws {
    var dump = Dump()
    let stream =
      Dump.u32(1) + Dump.u32(0xFFFF_0000) + Dump.u32(0xFFFF_FFFF)
      + [UInt8](repeating: 0, count: 28)
    dump.stream(0x4767_000A, Array(stream.prefix(size)))
    let read = try MinidumpReader.snapshot(of: dump.file())
    #expect((read.linkMap == nil) == (size < 40))
    #expect(read.linkMap?.entries.isEmpty != false)
    #expect(!read.capture.isComplete)
    #expect(read.capture.damage?.contains("dynamic linker's list") == true)
  }
}
