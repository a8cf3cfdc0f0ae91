import IntermediateDump
import Testing

/// The words by which objects and their metadata are recognized.
@Suite struct ObjectWordTests {
  /// The strong and unowned references, or the address of the side table.
  private func counts(_ word: UInt64) -> [UInt64]? {
    switch ReferenceCountWord(word) {
    case .immortal: []
    case .sideTable(let table): [table]
    case .counts(let counts):
      [counts.extraStrong, counts.unowned] + (counts.isDeinitializing ? [1] : [])
    case nil: nil
    }
  }

  @Test func aWordOfCountsIsReadOrRejected() {
    #expect(counts(0x0000_0000_0000_0003) == [0, 1])
    #expect(counts(0x0000_0006_0000_0005) == [3, 2])
    #expect(counts(0x0000_0001_0000_0003) == [0, 1, 1])
    #expect(counts(0x01FF_FFFE_001F_FFFF) == [0xFF_FFFF, 0xF_FFFF])
    #expect(counts(0x8000_0004_FFFF_FFFF) == [])
    #expect(counts(0xC000_0FE0_0000_2000) == [0x7F00_0001_0000])
    // An unowned count of 0, no native Swift object, too many references, and side tables outside the memory of a
    // process.
    for word in [
      0, 1, 2, 0x0000_0000_0020_0003, 0x0200_0000_0000_0003, 0x4000_0000_0000_0003,
      0xC000_0000_0000_0100, 0xC000_2000_0000_2000, 0xE000_0FE0_0000_2000, .max,
    ] as [UInt64] {
      #expect(counts(word) == nil, "\(String(word, radix: 16))")
    }
  }

  @Test func metadataOfAClassHasTwoSizesAndADescriptor() {
    let sizes: UInt64 = 16 << 32 | 96
    #expect(ClassMetadata.isPlausible(sizes: sizes, descriptor: 0x40_0004))
    #expect(ClassMetadata.isPlausible(sizes: nil, descriptor: 0x40_0004))
    #expect(!ClassMetadata.isPlausible(sizes: 0, descriptor: 0x40_0004))
    #expect(!ClassMetadata.isPlausible(sizes: 96 << 32 | 96, descriptor: 0x40_0004))
    #expect(!ClassMetadata.isPlausible(sizes: sizes, descriptor: 0x40_0002))
    #expect(!ClassMetadata.isPlausible(sizes: sizes, descriptor: 0x1000))
    #expect(ClassMetadata.end(sizes: sizes) == 80)
    #expect(ClassMetadata.end(sizes: 16 << 32 | 4096) == 256)
    #expect(ClassMetadata.end(sizes: 96 << 32 | 16) == 256)
  }

  /// A class and a value of this process.
  private final class Basket {}

  @Test func theKindIsThatOfTheRuntime() throws {
    func kind(_ type: Any.Type) -> MetadataKind? {
      let metadata = unsafe unsafeBitCast(type, to: UnsafePointer<UInt64>.self)
      return unsafe MetadataKind(metadata.pointee)
    }
    #expect(kind(Basket.self) == .class && kind(Int.self) == .struct)
    #expect(kind(MetadataKind.self) == .enum && kind(Int?.self) == .optional)
    #expect(kind((Int, Int).self) == .tuple && kind((() -> Void).self) == .function)
    #expect(kind((any Error).self) == .existential && kind(Int.Type.self) == .metatype)
    #expect(kind((any Error.Type).self) == .existentialMetatype)
    #expect(MetadataKind(0x7F00) == nil && MetadataKind(0x305) == nil)
    #expect(MetadataKind.class.isType && MetadataKind.tuple.isType && !MetadataKind.error.isType)
  }
}
