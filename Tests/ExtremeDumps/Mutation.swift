internal import IntermediateDump

/// Real and made-up dumps with some of their bytes changed.
enum Mutation {
  /// The same dump with a few of its fields at a limit, or some bytes flipped, cut or doubled.
  static func mutated(_ original: [UInt8], seed: UInt64) -> [UInt8] {
    var numbers = ExtremeNumbers(seed: seed ^ 0x5EED)
    var bytes = original
    let fields = fields(of: original)
    for _ in 0..<(1 + numbers.below(6)) {
      switch numbers.below(8) {
      case 0...4 where !fields.isEmpty:
        let field = numbers.pick(fields)
        if field.count <= 8 {
          ExtremeBytes.put(numbers.number(), field.count, at: field.lowerBound, in: &bytes)
        } else {
          // A word of registers, of a stack, of program headers.
          let place = field.lowerBound + numbers.below(field.count / 8) * 8
          ExtremeBytes.put(numbers.number(), at: place, in: &bytes)
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

  /// Where the values of an intermediate dump lie; of a minidump, its aligned words.
  private static func fields(of bytes: [UInt8]) -> [Range<Int>] {
    guard let document = try? IntermediateDumpDocument(parsing: bytes) else {
      return stride(from: 32, to: bytes.count - 7, by: 4).map { $0..<$0 + ($0 % 8 == 0 ? 8 : 4) }
    }
    var found: [Range<Int>] = []
    collect(document.root.entries, into: &found)
    return found
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
