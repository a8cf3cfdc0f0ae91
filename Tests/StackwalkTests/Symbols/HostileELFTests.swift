import CrashTestSupport
import ProcessSnapshot
import Testing

@testable import Stackwalk

/// Work and memory of reading symbols end where `WorkLimit` says, whatever the files.
@Suite("Hostile ELF files")
struct HostileELFTests {
  /// Looks up some addresses of code, and the notes.
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
      // Not the product of both.
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
