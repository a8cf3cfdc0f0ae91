internal import IntermediateDump

/// Changes some bytes of real and made-up dumps and modules.
enum Mutation {
  /// The file with a few fields set to a limit, made equal or removed, or with some bytes flipped, removed or
  /// doubled.
  static func mutated(_ original: [UInt8], seed: UInt64) -> [UInt8] {
    var numbers = ExtremeNumbers(seed: seed ^ 0x5EED)
    var bytes = original
    let fields = fields(of: original)
    for _ in 0..<(1 + numbers.below(6)) {
      switch numbers.below(8) {
      case 0...3 where !fields.isEmpty:
        let field = numbers.pick(fields)
        if field.count <= 8 {
          ExtremeBytes.put(numbers.number(), field.count, at: field.lowerBound, in: &bytes)
        } else {
          // A word within registers, a stack or program headers.
          let place = field.lowerBound + numbers.below(field.count / 8) * 8
          ExtremeBytes.put(numbers.number(), at: place, in: &bytes)
        }
      case 4 where !fields.isEmpty:
        let (from, to) = (numbers.pick(fields), numbers.pick(fields))
        let copied = original[from.clamped(to: original.indices)].prefix(to.count)
        for (index, byte) in copied.enumerated() where to.lowerBound + index < bytes.count {
          bytes[to.lowerBound + index] = byte
        }
      case 5 where bytes.count > 64:
        let place = 32 + numbers.below(bytes.count - 40)
        ExtremeBytes.put(numbers.number(), numbers.pick([1, 4, 8]), at: place, in: &bytes)
      case 6 where !bytes.isEmpty: bytes[numbers.below(bytes.count)] ^= 1 << UInt8(numbers.below(8))
      default:
        if bytes.count > 64, numbers.chance(20) {
          bytes.removeLast(numbers.below(bytes.count - 32))
        }
      }
    }
    return bytes
  }

  /// The ranges of the values in a file, according to its format; for an unknown format, its aligned words.
  private static func fields(of bytes: [UInt8]) -> [Range<Int>] {
    if bytes.starts(with: Array("MDMP".utf8)) { return minidumpFields(of: bytes) }
    if bytes.starts(with: [0x7F, 0x45, 0x4C, 0x46]) { return elfFields(of: bytes) }
    guard let document = try? IntermediateDumpDocument(parsing: bytes) else {
      return words(from: 0, to: bytes.count)
    }
    var found: [Range<Int>] = []
    collect(document.root.entries, into: &found)
    return found
  }

  private static func words(from start: Int, to end: Int) -> [Range<Int>] {
    stride(from: start, to: end - 7, by: 4).map { $0..<$0 + ($0 % 8 == 0 ? 8 : 4) }
  }

  /// The ranges of the directory, and of the first words of each stream: counts and sizes.
  private static func minidumpFields(of bytes: [UInt8]) -> [Range<Int>] {
    guard let count = bytes.littleEndian(at: 8, as: UInt32.self),
      let start = bytes.littleEndian(at: 12, as: UInt32.self)
    else { return words(from: 0, to: bytes.count) }
    var found = words(from: 8, to: 32)
    for index in 0..<min(Int(count), 24) {
      let entry = Int(start) + 12 * index
      guard let size = bytes.littleEndian(at: entry + 4, as: UInt32.self),
        let place = bytes.littleEndian(at: entry + 8, as: UInt32.self)
      else { break }
      found += [0, 4, 8].map { entry + $0..<entry + $0 + 4 }
      let end = min(Int(place) + min(Int(size), 64), bytes.count)
      found += stride(from: Int(place), to: end - 3, by: 4).map { $0..<$0 + 4 }
    }
    return found
  }

  /// The ranges of the file's, segments' and sections' headers, and of the sections' words.
  private static func elfFields(of bytes: [UInt8]) -> [Range<Int>] {
    guard let segments = bytes.littleEndian(at: 32, as: UInt64.self),
      let sections = bytes.littleEndian(at: 40, as: UInt64.self),
      let segmentCount = bytes.littleEndian(at: 56, as: UInt16.self),
      let sectionCount = bytes.littleEndian(at: 60, as: UInt16.self)
    else { return words(from: 0, to: bytes.count) }
    let limit = UInt64(bytes.count)
    var found = words(from: 16, to: 64)
    for (start, count) in [
      (segments, Int(segmentCount) * 56), (sections, Int(sectionCount) * 64),
    ] where start < limit {
      found += words(from: Int(start), to: min(Int(start) + count, bytes.count))
    }
    // Adds as many words of the contents.
    return found + words(from: 0, to: min(bytes.count, 4 * found.count))
  }

  private static func collect(
    _ entries: [IntermediateDumpMap.Entry], into found: inout [Range<Int>]
  ) {
    for entry in entries {
      switch entry.value {
      case .property(let range): if !range.isEmpty { found.append(range) }
      case .map(let map): collect(map.entries, into: &found)
      case .array(let elements): collect(elements, into: &found)
      }
    }
  }
}
