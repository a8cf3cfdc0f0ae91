import IntermediateDump
import Testing

@testable import ProcessSnapshot

/// The words of a stack in a dump from a log.
@Suite struct StackWordsTests {
  private static let stackPointer: Address = 0x7000

  private func property(_ groups: [(head: UInt32, words: [UInt64])]) -> [UInt8] {
    var bytes: [UInt8] = []
    for group in groups {
      bytes.append(littleEndian: group.head)
      for word in group.words { bytes.append(littleEndian: word) }
    }
    return bytes
  }

  /// The regions of the words, each as its address and its words.
  private func regions(_ properties: [[UInt8]]) throws -> [[UInt64]] {
    var dump: [UInt8] = []
    dump.append(littleEndian: IntermediateDumpFormat.magic)
    dump += [1, 0, 1, 8, 32, 0, 0, 0] + [UInt8](repeating: 0, count: 16)
    for property in properties {
      dump += [1, 0xA7, 1]
      dump.append(littleEndian: UInt32(property.count))
      dump += property
    }
    let map = try IntermediateDumpDocument(parsing: dump).root
    return StackWords(in: map, from: Self.stackPointer).regions.map { region in
      [region.address.value]
        + (0..<region.count / 8).map { region.bytes.littleEndian(at: $0 * 8, as: UInt64.self) ?? 0 }
    }
  }

  private func head(_ distance: UInt32, words: UInt32) -> UInt32 { (distance / 8) << 2 | words }

  @Test func wordsAndRecordsHaveTheirPlaces() throws {
    let found = try regions([
      property([(head(0x10, words: 1), [7]), (head(0x40, words: 2), [0x8000, 9])]),
      property([(head(0x1000, words: 2), [0x9000, 10])]),
    ])
    #expect(found == [[0x7010, 7], [0x7040, 0x8000, 9], [0x8000, 0x9000, 10]])
  }

  @Test func ofDamagedWordsOnlyTheFirstOnesAreUsed() throws {
    let whole = (head(0x10, words: 1), [7] as [UInt64])
    #expect(try regions([property([whole, (head(0x20, words: 2), [1])])]) == [[0x7010, 7]])
    #expect(try regions([property([whole, (4, []), whole])]) == [[0x7010, 7]])
    #expect(try regions([property([(3, [1, 2])])]).isEmpty)
    #expect(try regions([[0, 0]]).isEmpty)
    // The reader of memory decides which of two values counts.
    #expect(try regions([property([whole, whole])]) == [[0x7010, 7], [0x7010, 7]])
  }
}
