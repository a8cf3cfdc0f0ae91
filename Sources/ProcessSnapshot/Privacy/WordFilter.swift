internal import IntermediateDump

/// Decides which words of stacks and registers a sanitized report keeps.
///
/// The filter keeps addresses in modules, in executable memory, in stacks and in other memory that stays in the report.
/// The filter also keeps numbers below 4,096 and the words that the caller lists.
///
/// Source: Crashpad `snapshot/sanitized/memory_snapshot_sanitized.cc`.
final class WordFilter: Sendable {
  private let places: RangeSet
  /// The memory with code, to which signed return addresses may point; nil on architectures that do not sign return
  /// addresses.
  private let signedCode: RangeSet?
  private let words: Set<UInt64>

  /// - Parameters:
  ///   - code: executable memory, to which signed return addresses may point on arm64.
  ///   - words: words that are kept, no matter where they point.
  init(
    _ architecture: ProcessSnapshot.Architecture, places: [AddressRange], code: [AddressRange],
    words: Set<UInt64>
  ) {
    self.words = words
    self.places = RangeSet(places + code)
    signedCode = architecture == .arm64 ? RangeSet(code) : nil
  }

  func sanitized(_ word: UInt64) -> UInt64 {
    keeps(word) ? word : IntermediateDumpFormat.replacedWord
  }

  private func keeps(_ word: UInt64) -> Bool {
    // In a saved frame pointer, bit 60 may be set to mark the frame record of a Swift async function.
    word < 4096 || places.contains(Address(word)) || places.contains(Address(word & ~(1 << 60)))
      || signedCode?.contains(Address(word & 0x0000_FFFF_FFFF_FFFF)) == true
      || words.contains(signedCode == nil ? word : word & 0x0000_FFFF_FFFF_FFFF)
  }
}

/// Replaces words of memory when they are read, for a sanitized report.
struct SanitizedWords: Sendable {
  let filter: WordFilter
  /// The range of the sanitized memory in the dump; a word that is only partly in this range is replaced.
  let whole: Range<Int>
  /// The address of the first byte of `whole`.
  let address: Address

  /// Reads a part of the memory; nil if the dump's file cannot be read.
  func slice(_ range: Range<Int>, of source: DumpBytes) -> ArraySlice<UInt8>? {
    let low = max(whole.lowerBound, range.lowerBound - phase(range.lowerBound))
    let high = min(whole.upperBound, range.upperBound + (8 - phase(range.upperBound)) % 8)
    guard let captured = source.slice(low..<high) else { return nil }
    var bytes = Array(captured)
    var index = 0
    while index < bytes.count {
      let count = min(8 - phase(low + index), bytes.count - index)
      let word = count == 8 ? bytes[...].littleEndian(at: index, width: 8) : nil
      let kept = word.map(filter.sanitized)
      if word == nil || kept != word {
        let start = phase(low + index)
        for place in 0..<count {
          bytes[index + place] = UInt8(
            truncatingIfNeeded: IntermediateDumpFormat.replacedWord >> UInt64(8 * (start + place)))
        }
      }
      index += count
    }
    return bytes[range.lowerBound - low..<range.upperBound - low]
  }

  /// The number of bytes from the start of a word to a position in the dump that is inside this word.
  private func phase(_ place: Int) -> Int {
    Int(truncatingIfNeeded: (address &+ UInt64(place - whole.lowerBound)).value & 7)
  }
}
