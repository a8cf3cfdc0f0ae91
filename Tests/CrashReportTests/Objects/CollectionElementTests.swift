import IntermediateDump
import ProcessSnapshot
import Testing

@testable import CrashAnalysis
@testable import CrashReport

/// The first elements of collections in this process, compared with the elements that an iteration returns.
@Suite struct CollectionElementTests {
  private func object(_ word: UInt64, hiding hidden: Range<UInt64> = 0..<0) -> SwiftObject? {
    let reader = ObjectReader(
      ProcessReader(
        memory: { address, count in
          address.value < hidden.upperBound && address.value &+ UInt64(count) > hidden.lowerBound
            ? nil : OwnProcess.bytes(at: address, count: count)
        }, constants: OwnProcess.bytes), showsContents: true)
    return reader.object(at: Address(word))
  }

  private func shown<Value>(_ value: Value) -> String {
    guard let text = value as? String else { return "\(value)" }
    var cut = text
    while cut.utf8.count > 24 { cut.removeLast() }
    return "\"" + cut + "\"" + (cut == text ? "" : "...")
  }

  private func expect<Key, Value>(_ dictionary: [Key: Value], line: Int = #line) {
    let found = object(unsafe unsafeBitCast(dictionary, to: UInt64.self))
    let elements = dictionary.prefix(4).map { "\(shown($0.key)): \(shown($0.value))" }
    #expect(found?.size == UInt64(dictionary.count), "line \(line)")
    #expect(found?.elements == elements, "line \(line)")
    withExtendedLifetime(dictionary) {}
  }

  private func expect<Element>(_ set: Set<Element>, line: Int = #line) {
    let found = object(unsafe unsafeBitCast(set, to: UInt64.self))
    #expect(found?.size == UInt64(set.count), "line \(line)")
    #expect(found?.elements == set.prefix(4).map { shown($0) }, "line \(line)")
    withExtendedLifetime(set) {}
  }

  /// Sizes just below and above each size of the table, and one whose bitmap has several words.
  private static let sizes = [1, 2, 3, 4, 6, 7, 12, 13, 24, 25, 48, 49, 96, 97, 400, 1537]

  @Test(arguments: sizes)
  func dictionariesAndSetsOfAllSizesShowWhatTheyHold(_ count: Int) {
    expect(Dictionary(uniqueKeysWithValues: (0..<count).map { ($0 * 3 - 7, "value \($0)") }))
    expect(Dictionary(uniqueKeysWithValues: (0..<count).map { ("\($0)", $0) }))
    expect(Dictionary(uniqueKeysWithValues: (0..<count).map { ("a long name of a key \($0)", $0) }))
    expect(Dictionary(uniqueKeysWithValues: (0..<count).map { ("Größe \($0)", $0 % 2 == 0) }))
    expect(Dictionary(uniqueKeysWithValues: (0..<count).map { (UInt16($0), Double($0) / 3) }))
    expect(Set((0..<count).map { $0 &* 0x1_0001 }))
    expect(Set((0..<count).map { "element \($0)" }))
  }

  @Test func keysAndValuesOfEveryWidthStandWhereTheTableHasThem() {
    let numbers = 1...9
    expect(Dictionary(uniqueKeysWithValues: numbers.map { (UInt8($0), Int64(-$0)) }))
    expect(Dictionary(uniqueKeysWithValues: numbers.map { (Int8(-$0), UInt32.max - UInt32($0)) }))
    expect(Dictionary(uniqueKeysWithValues: numbers.map { (Int16(-$0), Float($0) / 7) }))
    expect(Dictionary(uniqueKeysWithValues: numbers.map { (Int32(-$0), UInt8($0)) }))
    expect(Dictionary(uniqueKeysWithValues: numbers.map { (UInt64($0) << 60, "\($0)") }))
    expect(Dictionary(uniqueKeysWithValues: numbers.map { (Double($0), Int16.min + Int16($0)) }))
    expect([true: "yes", false: "no"])
    expect(Set(numbers.map { Int8(-$0) }))
    expect(Set([0.5, -.infinity, Double.nan]))
  }

  @Test func elementsThatWereRemovedAreNotShown() {
    var names = Dictionary(uniqueKeysWithValues: (0..<40).map { ($0, "\($0)") })
    for number in 0..<36 { names[number] = nil }
    expect(names)
    for number in 36..<39 { names[number] = nil }
    expect(names)
  }

  @Test func aLongTextIsCutBetweenTwoCharacters() {
    for length in 18...30 {
      let text = String(repeating: "x", count: length) + "€uro and much more text"
      expect([text: 1])
    }
  }

  @Test func aValueOfAnotherTypeIsNotKnown() {
    final class Basket {}
    let baskets = [7: Basket()]
    let found = object(unsafe unsafeBitCast(baskets, to: UInt64.self))
    #expect(found?.elements == ["7: _"])
    let keys = [[1]: 2]
    #expect(object(unsafe unsafeBitCast(keys, to: UInt64.self))?.elements == [])
    let nested: Set<[Int]> = [[1]]
    #expect(object(unsafe unsafeBitCast(nested, to: UInt64.self))?.elements == [])
    withExtendedLifetime((baskets, keys, nested)) {}
  }

  @Test func arraysOfStringsShowTheFirstOfThem() {
    let word = "not a literal, of \(Self.sizes.count) sizes"
    let texts = ["", "short", word, "a literal of more than 15 bytes", "fifth", "sixth"]
    let found = object(unsafe unsafeBitCast(texts, to: UInt64.self))
    #expect(found?.elements == texts.prefix(4).map { shown($0) })
    #expect(found?.words.contains(", 6 elements) [\"\", \"short\", \"not a li") == true)
    #expect(found?.words.hasSuffix("..., ...]") == true)
    withExtendedLifetime(texts) {}
  }

  @Test func whatIsNotInTheDumpIsNotShown() throws {
    let names = [1: "a text that is not in the object \(Self.sizes.count)"]
    let word = unsafe unsafeBitCast(names, to: UInt64.self)
    // A dump has only 64 bytes of an object to which only the stack points, so the bitmap is missing.
    let cut = object(word, hiding: word + 64..<word + 4096)
    #expect(cut?.size == 1 && cut?.elements == [])
    let values =
      try #require(OwnProcess.bytes(at: Address(word + 56), count: 8))
      .littleEndian(at: 0, width: 8) ?? 0
    #expect(object(word, hiding: values..<values + 32)?.elements == ["1: _"])
    let text =
      unsafe unsafeBitCast(names[1] ?? "", to: (UInt64, UInt64).self).1 & 0x0FFF_FFFF_FFFF_FFFF
    #expect(object(word, hiding: text + 32..<text + 56)?.elements == ["1: _"])
    withExtendedLifetime(names) {}
  }

  @Test func aStorageWhoseFieldsContradictEachOtherShowsNothing() throws {
    let names = Dictionary(uniqueKeysWithValues: (0..<9).map { ($0, $0) })
    let word = unsafe unsafeBitCast(names, to: UInt64.self)
    // The offsets of the count, capacity, scale, keys, values and bitmap.
    for offset in [UInt64(16), 24, 32, 48, 56, 64] {
      let reader = ObjectReader(
        ProcessReader(
          memory: { address, count in
            guard var bytes = OwnProcess.bytes(at: address, count: count) else { return nil }
            if address.value == word + offset { bytes[bytes.startIndex] ^= 2 }
            return bytes
          }, constants: OwnProcess.bytes), showsContents: true)
      #expect(reader.object(at: Address(word))?.elements == [], "\(offset)")
    }
    withExtendedLifetime(names) {}
  }
}
