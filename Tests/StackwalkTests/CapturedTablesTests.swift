import CrashTestSupport
import IntermediateDump
import ProcessSnapshot
import Testing

@testable import Stackwalk

/// A private report keeps the unwind tables of an image in the dump's memory, and nothing that is next to them.
@Suite struct CapturedTablesTests {
  private static let start: UInt64 = 0x40_0000
  private let image = HandmadeImage(
    at: start, functions: [(0x100..<0x180, []), (0x180..<0x200, [])])

  /// The ranges that a sanitized report keeps of one page, whose other bytes are secrets.
  ///
  /// - Parameter headers: the offset of the program headers.
  private func kept(headers: Int, rights: MemoryMapping.Protection = .read) -> [AddressRange] {
    var page = [UInt8](repeating: 0x53, count: 0x1000)
    page.replaceSubrange(0..<64, with: image.header.prefix(64))
    page.replaceSubrange(32..<40, with: littleEndian(UInt64(headers), 8))
    page.replaceSubrange(headers..<headers + 112, with: image.header.dropFirst(64))
    page.replaceSubrange(0x800..<0x800 + image.frames.count, with: image.frames)
    var snapshot = ProcessSnapshot(architecture: .x86_64)
    let address = Address(Self.start)
    snapshot.modules = [ModuleSnapshot(address: address, size: 0x1000, path: "/opt/lib.so")]
    snapshot.mappings = [
      MemoryMapping(
        range: AddressRange(start: address, byteCount: 0x1000), protection: rights, fileOffset: 0,
        path: "/opt/lib.so (deleted)")
    ]
    snapshot.memory = MemorySnapshot(joining: [MemoryRegion(address: address, bytes: page)])
    return snapshot.keeping(.sanitized, symbols: nil).memory.regions.map(\.range)
  }

  private func range(_ offset: UInt64, _ count: Int) -> AddressRange {
    AddressRange(start: Address(Self.start + offset), byteCount: UInt64(count))
  }

  @Test func theHeadersAndTheEntriesStay() {
    #expect(kept(headers: 64) == [range(0, 64 + 112), range(0x800, image.frames.count)])
  }

  @Test func movedProgramHeadersDoNotKeepWhatIsBetween() {
    #expect(
      kept(headers: 0xE00)
        == [range(0, 64), range(0x800, image.frames.count), range(0xE00, 112)])
  }

  @Test func writableMemoryIsNoTable() {
    #expect(kept(headers: 64, rights: [.read, .write]) == [])
  }
}
