import CoreFile
import CrashAnalysis
import CrashTestSupport
import IntermediateDump
import ProcessSnapshot
import Testing

/// Core files with more segments than the ELF header can count, and with thousands of threads.
///
/// `HostileCoreTests` and `CoreReaderTests` have the same shapes with hundreds of them.
@Suite struct LargeCoreTests {
  @Test(arguments: [60_000, 70_000])
  func aCoreOf60000Or70000SegmentsIsRead(_ count: Int) throws {
    var core = SyntheticCore()
    core.segments += (0..<count).map {
      SyntheticCore.Segment(
        address: 0x10_0000_0000 + UInt64($0) * 0x2000, bytes: [UInt8](repeating: 7, count: 16),
        memorySize: 0x1000)
    }
    let snapshot = try CoreReader.snapshot(of: DumpBytes(core.bytes))
    #expect(snapshot.capture.isComplete)
    #expect(snapshot.mappings.count == count + 3)
    #expect(snapshot.memory.word(at: Address(0x10_0000_0000 + UInt64(count - 1) * 0x2000)) != nil)
    #expect(Verdict(of: snapshot).kind == "unmapped-memory")
  }

  @Test func aCoreOf4000ThreadsOnOneStackIsRead() throws {
    var core = SyntheticCore()
    core.threads = (0..<4000).map { SyntheticCore.Thread(id: 5000 + UInt32($0)) }
    let snapshot = try CoreReader.snapshot(of: DumpBytes(core.bytes))
    #expect(snapshot.threads.count == 4000 && snapshot.capture.threadsFound == 4000)
    #expect(Verdict(of: snapshot).signal == "SIGSEGV")
  }

  /// The kernel writes the section header with the number of program headers at the end of the file.
  @Test func aCutCoreFileWithManyProgramHeadersKeepsAllOfThem() throws {
    var core = SyntheticCore()
    core.hasSectionHeaderAtEnd = true
    // The last mapping is beyond the 65,535 that the ELF header could count.
    core.segments += (0..<70_000).map { index in
      .init(address: 0x1_0000_0000 + UInt64(index) * 0x2000, flags: 4, memorySize: 0x1000)
    }
    let whole = core.bytes
    let last = Address(0x1_0000_0000 + 69_999 * 0x2000)
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
    #expect(cut.capture.damage?.contains("a part of 1 of 70003 segments") == true)
  }
}
