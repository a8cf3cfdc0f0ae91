internal import IntermediateDump

/// The names and values of contexts, in the form in which the handler stores them.
///
/// Source: CrashHandler/State/Client/ContextValue.swift.
package struct ContextRecord: Sendable, Equatable {
  /// The name and the value of one context.
  package struct Value: Sendable, Hashable {
    package var name: String
    package var value: String
    /// True if the value was cut because the record had no room for all of it.
    package var isCut: Bool

    package init(name: String, value: String, isCut: Bool = false) {
      (self.name, self.value, self.isCut) = (name, value, isCut)
    }
  }

  private static let textOffset = 24

  /// The number of the unit of work to which the record belongs.
  let work: UInt64
  /// The number of values for which there was no room.
  let omittedCount: UInt64
  /// The values, the outermost context's first.
  let values: [Value]

  /// Reads a record.
  ///
  /// - Parameters:
  ///   - bytes: bytes that begin with the record.
  ///   - textCapacity: the number of bytes that a record has for its names and values.
  ///   - last: the word after the text, which the checksum includes.
  /// - Returns: nil if the record was overwritten or not completely written.
  init?(_ bytes: ArraySlice<UInt8>, textCapacity: Int, last: UInt64) {
    func word(_ offset: Int) -> UInt64 { bytes.littleEndian(at: offset, width: 8) ?? 0 }
    let count = Int(truncatingIfNeeded: word(16) & 0xFFFF)
    guard bytes.count >= Self.textOffset + textCapacity, word(16) >> 32 == 0, count <= textCapacity
    else { return nil }
    var seal: UInt64 = 0x706D_2D63_6F6E_7478
    for offset in stride(from: 8, to: Self.textOffset + (count + 7) & ~7, by: 8) {
      seal &+= Self.mixed(word(offset), at: offset)
    }
    guard word(0) == seal &+ Self.mixed(last, at: Self.textOffset + textCapacity) else {
      return nil
    }
    work = word(8)
    omittedCount = word(16) >> 16 & 0xFFFF
    values = Self.values(in: bytes.dropFirst(Self.textOffset).prefix(count))
  }

  /// What a word adds to the checksum; `ContextValue.mixed` in the handler.
  private static func mixed(_ word: UInt64, at offset: Int) -> UInt64 {
    let product = word &* 0x9E37_79B9_7F4A_7C15
    let factor: UInt64 = 0x9E37_79B9_7F4A_7C15 &+ UInt64(truncatingIfNeeded: offset)
    return (product ^ product >> 32) &* factor
  }

  private static func values(in text: ArraySlice<UInt8>) -> [Value] {
    var values: [Value] = []
    var rest = text
    while let head = rest.first, let size = rest.dropFirst().first {
      let (nameCount, valueCount) = (Int(head & 0x7F), Int(size))
      rest = rest.dropFirst(2)
      guard nameCount + valueCount <= rest.count else { break }
      values.append(
        Value(
          name: String(decoding: rest.prefix(nameCount), as: UTF8.self),
          value: String(decoding: rest.dropFirst(nameCount).prefix(valueCount), as: UTF8.self),
          isCut: head & 0x80 != 0))
      rest = rest.dropFirst(nameCount + valueCount)
    }
    return values
  }
}
