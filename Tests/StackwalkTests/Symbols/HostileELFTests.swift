import CrashTestSupport
import Foundation
import ProcessSnapshot
import Testing

@testable import Stackwalk

/// `WorkLimit` bounds the work and memory of reading symbols for any file.
@Suite struct HostileELFTests {
  /// Looks up some addresses of code; returns the notes.
  private func read(_ module: ModuleSnapshot, _ limit: WorkLimit) throws -> [String] {
    let symbols = try ModuleSymbols(module, limit: limit)
    for offset: UInt64 in 0..<64 {
      let frames = symbols.frames(at: module.address &+ offset, in: module)
      #expect(frames.count <= 256)
      _ = symbols.cfiRow(at: module.address &+ offset, in: module, registerCount: 17)
    }
    return symbols.notes
  }

  @Test(arguments: HostileELF.allCases)
  func isBounded(_ attack: HostileELF) throws {
    let directory = try TemporaryDirectory()
    let module = try attack.write(in: directory.path)
    let steps = WorkLimit.maximumSteps / 100
    let limit = WorkLimit(steps: steps)
    let notes = try read(module, limit)
    switch attack {
    case .rangeLists:
      #expect(limit.isShortOfMemory || limit.isReached)
      #expect(notes.contains { $0.contains("not all of its names were read") })
    case .nestedCalls: #expect(limit.spentSteps <= steps)
    case .sharedCompression:
      #expect(notes.contains { $0.contains("too large to be read") })
    case .sparseDebugFile:
      #expect(notes.contains { $0.contains("too large to be compared") })
      #expect(limit.spentSteps < 100_000)
    case .segmentsAndSymbols:
      // The number of steps is not the product of both counts.
      #expect(notes == [] && limit.spentSteps < 2_000_000)
    }
  }

  @Test func oneFileUnderManyPathsIsReadOnce() throws {
    let directory = try TemporaryDirectory()
    let module = try HostileELF.segmentsAndSymbols.write(in: directory.path)
    let symbols = SymbolSource()
    var last = 0
    for index in 0..<50 {
      var other = module
      other.path = directory.path + String(repeating: "/.", count: index) + "/" + module.name
      _ = symbols.linkageName(of: module.address, in: other)
      if index > 0 { #expect(symbols.limit.spentSteps - last < 1_000) }
      last = symbols.limit.spentSteps
    }
  }

  @Test func memoryOfOthersIsForgottenFirst() {
    final class Keeper: MemoryHolder {
      let limit: WorkLimit
      var kept = 0
      init(_ limit: WorkLimit) { self.limit = limit }
      func forget() {
        limit.giveBack(kept)
        kept = 0
      }
    }
    let limit = WorkLimit(bytes: 1000)
    let keeper = Keeper(limit)
    limit.add(keeper)
    #expect(limit.take(900))
    keeper.kept = 900
    #expect(limit.take(600) && keeper.kept == 0 && !limit.isShortOfMemory)
    #expect(!limit.take(401) && limit.isShortOfMemory && limit.note != nil)
    #expect(limit.take(400))
  }

  /// Opens a file with these sections.
  private func image(
    _ sections: [(name: String, bytes: [UInt8])], in directory: borrowing TemporaryDirectory
  ) throws -> ELFImage {
    let path = directory.path + "/module"
    let file = HandmadeELF.bytes(sections: sections.map { ($0.name, 0, $0.bytes) })
    try Data(file).write(to: URL(fileURLWithPath: path))
    return try ELFImage(path: path)
  }

  @Test(arguments: [(100, true), (1_000, false)])
  func attributesWithoutBytesAreBounded(count: Int, isRead: Bool) throws {
    let directory = try TemporaryDirectory()
    // DW_AT_decl_line with the form DW_FORM_flag_present, which takes no bytes.
    let attributes = [[UInt8]](repeating: [0x3B, 0x19], count: count).joined()
    let image = try image(
      [(".debug_abbrev", [1, 0x11, 0] + attributes + [0, 0, 0])], in: directory)
    let section = try #require(DebugSection(".debug_abbrev", of: image))
    let format = DWARFValue.Format(version: 5, offsetSize: 4, addressSize: 8)
    let table = DWARFAbbreviations(of: section, at: 0, format, WorkLimit())
    #expect((table?.entry(1) != nil) == isRead)
  }

  @Test func filesWithoutBytesAreBounded() throws {
    var tables = DebugBytes()
    tables.u8(1, 1, 1, 0xFD, 12, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1)
    // A million directories with the form DW_FORM_flag_present.
    tables.u8(1, 1, 0x19, 0x80, 0x80, 0x40, 0, 0)
    var header = DebugBytes()
    header.u16(5)
    header.u8(8, 0)
    header.u32(UInt64(tables.bytes.count))
    for value in tables.bytes { header.u8(UInt64(value)) }
    let read = try #require(LineHeader(header.withLength, addressSize: 8))
    #expect(read.cost < 1_000)
  }

  @Test func emptySetsOfAddressRangesAreBounded() throws {
    let directory = try TemporaryDirectory()
    var unit = DebugBytes()
    unit.u16(5)
    unit.u8(1, 8)
    unit.u32(0)
    unit.u8(1)
    let image = try image(
      [
        (".debug_info", unit.withLength), (".debug_abbrev", [1, 0x11, 0, 0, 0, 0]),
        (".debug_aranges", [UInt8](repeating: 0, count: 1 << 20)),
      ], in: directory)
    let limit = WorkLimit(steps: 50_000)
    let information = try #require(DebugInformation(of: image, limit: limit))
    #expect(information.frames(at: 0x1100) == [])
    #expect(limit.isReached)
  }

  @Test func readsOfSectionsAreWork() throws {
    let directory = try TemporaryDirectory()
    let image = try image([(".debug_str", [UInt8](repeating: 1, count: 1 << 18))], in: directory)
    let limit = WorkLimit()
    let section = try #require(DebugSection(".debug_str", of: image, limit))
    for _ in 0..<100 {
      #expect(section.integer(at: 0, width: 4) != nil)
      #expect(section.integer(at: 1 << 17, width: 4) != nil)
    }
    #expect(limit.spentSteps >= 200 * 64)
    #expect(section.text(at: 0) == nil)
    #expect(limit.spentSteps >= 200 * 64 + 4096)
  }

  @Test func addressSetsJoinWhatOverlaps() {
    let set = AddressSet([
      AddressRange(start: 0x3000, byteCount: 0x1000),
      AddressRange(start: 0x1000, byteCount: 0x1800),
      AddressRange(start: 0x2000, byteCount: 0x1000), AddressRange(start: 0x9000, byteCount: 0),
    ])
    #expect(set.range(around: 0x1000) == AddressRange(start: 0x1000, byteCount: 0x3000))
    #expect(!set.contains(0xFFF) && set.contains(0x3FFF) && !set.contains(0x4000))
    #expect(!set.contains(0x9000))
  }
}
