import IntermediateDump
import Testing

@testable import ProcessSnapshot

/// The words of a stack in a dump from a log.
@Suite struct StackWordsTests {
  private static let stackPointer: Address = 0x7000

  /// A property whose first group has the given number.
  private func property(_ number: UInt32, _ groups: [(head: UInt32, words: [UInt64])]) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: number)
    for group in groups {
      bytes.append(littleEndian: group.head)
      for word in group.words { bytes.append(littleEndian: word) }
    }
    return bytes
  }

  private func regions(_ properties: [[UInt8]]) throws -> [UInt64: [UInt64]] {
    var dump: [UInt8] = []
    dump.append(littleEndian: IntermediateDumpFormat.magic)
    dump += [1, 0, 1, 8, 32, 0, 0, 0] + [UInt8](repeating: 0, count: 16)
    for property in properties {
      dump += [1, 0xA7, 1]
      dump.append(littleEndian: UInt32(property.count))
      dump += property
    }
    let map = try IntermediateDumpDocument(parsing: dump).root
    return Dictionary(
      uniqueKeysWithValues: StackWords(in: map, from: Self.stackPointer).regions.map { region in
        (
          region.address.value,
          (0..<region.count / 8).map { region.bytes.littleEndian(at: $0 * 8, as: UInt64.self) ?? 0 }
        )
      })
  }

  private func head(_ distance: UInt32, words: UInt32) -> UInt32 { distance / 8 << 2 | words }

  @Test func wordsAndRecordsHaveTheirPlaces() throws {
    let found = try regions([
      property(0, [(head(0x10, words: 1), [7]), (head(0x40, words: 2), [0x8000, 9])]),
      property(2, [(head(0x1000, words: 2), [0x9000, 10])]),
    ])
    #expect(found == [0x7010: [7], 0x7040: [0x8000, 9], 0x8000: [0x9000, 10]])
  }

  @Test func afterAGapInTheNumbersNothingIsUsed() throws {
    let found = try regions([
      property(0, [(head(0x10, words: 1), [7])]), property(2, [(head(0x40, words: 1), [8])]),
      property(1, [(head(0x50, words: 1), [9])]),
    ])
    #expect(found == [0x7010: [7]])
  }

  @Test func aRecursionIsContinued() throws {
    // Two functions call each other, with frames of 32 and 64 bytes.
    let found = try regions([
      property(
        0,
        [
          (head(0x00, words: 2), [0x7020, 1]), (head(0x20, words: 2), [0x7060, 2]),
          (head(0x60, words: 2), [0x7080, 1]), (3 << 4 | 1 << 2, []),
          (head(0x200, words: 1), [5]),
        ])
    ])
    #expect(
      found == [
        0x7000: [0x7020, 1], 0x7020: [0x7060, 2], 0x7060: [0x7080, 1], 0x7080: [0x70C0, 2],
        0x70C0: [0x70E0, 1], 0x70E0: [0x7120, 2], 0x7200: [5],
      ])
  }

  @Test func damagedNumbersTakeLittleMemory() throws {
    let records: [(UInt32, [UInt64])] = [
      (head(0x00, words: 2), [0x7020, 1]), (head(0x20, words: 2), [0x7040, 1]),
    ]
    #expect(try regions([property(0, records + [(.max & ~15, [])])]).count == 2)
    #expect(try regions([property(0, [(1 << 4, [])])]).isEmpty)
    #expect(try regions([property(0, [(3, [1, 2])])]).isEmpty)
    #expect(try regions([[0, 0]]).isEmpty)
  }
}
