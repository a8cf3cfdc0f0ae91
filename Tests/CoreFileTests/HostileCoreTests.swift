import CoreFile
import CrashAnalysis
import CrashReport
import CrashTestSupport
import IntermediateDump
import ProcessSnapshot
import Testing

/// Core files that the kernel never writes, or only rarely.
///
/// `LargeCoreTests` in `Tests/Proofs` has many more segments and threads.
@Suite struct HostileCoreTests {
  private func snapshot(_ bytes: [UInt8]) throws -> ProcessSnapshot {
    try CoreReader.snapshot(of: DumpBytes(bytes))
  }

  @Test(arguments: [false, true])
  func aCoreOf600SegmentsIsRead(hasExtendedCount: Bool) throws {
    let count = 600
    var core = SyntheticCore()
    core.hasExtendedCount = hasExtendedCount
    core.segments += (0..<count).map {
      SyntheticCore.Segment(
        address: 0x10_0000_0000 + UInt64($0) * 0x2000, bytes: [UInt8](repeating: 7, count: 16),
        memorySize: 0x1000)
    }
    let snapshot = try snapshot(core.bytes)
    #expect(snapshot.capture.isComplete)
    #expect(snapshot.mappings.count == count + 3)
    #expect(snapshot.memory.word(at: Address(0x10_0000_0000 + UInt64(count - 1) * 0x2000)) != nil)
    #expect(Verdict(of: snapshot).kind == "unmapped-memory")
  }

  @Test func aCoreOf400ThreadsOnOneStackIsRead() throws {
    var core = SyntheticCore()
    core.threads = (0..<400).map { SyntheticCore.Thread(id: 5000 + UInt32($0)) }
    let snapshot = try snapshot(core.bytes)
    #expect(snapshot.threads.count == 400 && snapshot.capture.threadsFound == 400)
    #expect(Verdict(of: snapshot).signal == "SIGSEGV")
  }

  @Test func segmentsThatOverlapEndBehindTheAddressSpaceOrPromiseMoreThanThereIs() throws {
    var core = SyntheticCore()
    let bytes = [UInt8](repeating: 3, count: 64)
    core.segments += [
      .init(address: SyntheticCore.stack + 8, bytes: bytes),
      .init(address: .max - 7, bytes: bytes),
      .init(address: 0, bytes: bytes, memorySize: .max),
      .init(address: 0x6000, bytes: bytes, memorySize: 1),
      .init(address: 0x7000_0000, memorySize: 1 << 62),
    ]
    let snapshot = try snapshot(core.bytes)
    // The segment with the lower start is used.
    #expect(snapshot.memory.word(at: Address(SyntheticCore.stack + 8)) == 0x5A5A_5A5A_5A5A_5A5A)
    #expect(!CrashReport(snapshot: snapshot, symbolicating: true).threads.isEmpty)
  }

  @Test func everyFieldOfTheHeadersAtItsLimits() throws {
    let original = SyntheticCore().bytes
    let end = 64 + 4 * 56
    for place in stride(from: 16, to: end + 256, by: 4) {
      for value: UInt8 in [0, 0x7F, 0x80, 0xFF] {
        var bytes = original
        for index in 0..<8 where place + index < bytes.count { bytes[place + index] = value }
        _ = try? CoreReader.snapshot(of: DumpBytes(bytes), readsFiles: false)
      }
    }
  }

  @Test func ntFileThatCountsMoreEntriesThanItHasAndNamesWithoutAnEnd() throws {
    var core = SyntheticCore()
    core.files = (0..<2000).map {
      .init(start: UInt64($0) * 0x1000, end: .max, pages: .max, path: "/opt/\($0)\n")
    }
    let snapshot = try snapshot(core.bytes)
    #expect(snapshot.threads.count == 2)
  }

  @Test func aRingInTheListOfTheDynamicLinkerIsFollowedOnce() throws {
    var core = SyntheticCore()
    func put(_ words: [UInt64], at offset: Int, in segment: Int) {
      var bytes: [UInt8] = []
      for word in words { bytes.append(littleEndian: word) }
      core.segments[segment].bytes.replaceSubrange(offset..<offset + bytes.count, with: bytes)
    }
    // A fourth program header for the dynamic section, whose DT_DEBUG points to a `struct r_debug` on the stack.
    core.segments[0].bytes[56] = 4
    let header = SyntheticCore.segment(
      type: 2, flags: 6, offset: 0x300, address: 0x300, fileSize: 32, memorySize: 32)
    core.segments[0].bytes.replaceSubrange(64 + 3 * 56..<64 + 4 * 56, with: header)
    let stack = SyntheticCore.stack
    put([21, stack + 0x40, 0, 0], at: 0x300, in: 0)
    put([1, stack + 0x80, 0, 0, 0], at: 0x40, in: 2)
    put([SyntheticCore.executable, 0, 0x40_0300, stack + 0xC0], at: 0x80, in: 2)
    put([0x7000_0000, 0, 0x7000_0300, stack + 0x80], at: 0xC0, in: 2)
    let addresses = try snapshot(core.bytes).linkMap?.entries.map(\.address)
    #expect(addresses == [Address(SyntheticCore.executable), Address(0x7000_0000)])
  }
}
