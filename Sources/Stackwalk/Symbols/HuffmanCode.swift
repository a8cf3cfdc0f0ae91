/// A prefix code of deflate.
///
/// Codes of up to ten bits are in a table, whose index is the next ten bits of the input. Longer codes are found bit by
/// bit with `counts` and `symbols`.
struct HuffmanCode {
  static let longest = 15
  private static let indexWidth = 10

  /// Each of the 1,024 entries has a symbol in the upper 12 bits and the length of its code in the lower 4 bits.
  ///
  /// The index is the next ten bits of the input, with the first bit lowest. The entry is 0 if these bits do not begin
  /// with a complete code.
  let table: [UInt16]
  /// The number of codes of each length.
  private let counts: [Int]
  /// The symbols, sorted by their codes.
  private let symbols: [UInt16]

  /// Makes the codes from their lengths; nil if the lengths do not form a valid prefix code.
  init?(lengths: ArraySlice<UInt8>) {
    var counts = [Int](repeating: 0, count: Self.longest + 1)
    for length in lengths where length > 0 { counts[Int(length)] += 1 }
    var next = [Int](repeating: 0, count: Self.longest + 1)
    var place = next
    var code = 0
    for length in 1...Self.longest {
      code = (code + counts[length - 1]) << 1
      next[length] = code
      place[length] = place[length - 1] + counts[length - 1]
      guard code + counts[length] <= 1 << length else { return nil }
    }
    var table = [UInt16](repeating: 0, count: 1 << Self.indexWidth)
    var symbols = [UInt16](repeating: 0, count: lengths.count)
    var symbol: UInt16 = 0
    for length in lengths {
      defer { symbol &+= 1 }
      if length == 0 { continue }
      let width = Int(length)
      symbols[place[width]] = symbol
      place[width] += 1
      if width <= Self.indexWidth {
        var index = 0
        var bit = 0
        while bit < width {
          index |= (next[width] &>> bit & 1) &<< (width - 1 - bit)
          bit += 1
        }
        while index < 1 << Self.indexWidth {
          table[index] = symbol &<< 4 | UInt16(length)
          index += 1 &<< width
        }
      }
      next[width] += 1
    }
    (self.table, self.counts, self.symbols) = (table, counts, symbols)
  }

  /// Finds the symbol that the lowest bits encode, in the form of an entry of `table`; 0 if there is no such symbol.
  func entry(_ bits: UInt64) -> UInt16 {
    let entry = table[Self.index(bits)]
    return entry != 0 ? entry : longEntry(bits)
  }

  /// The index of `table` that the lowest bits form.
  static func index(_ bits: UInt64) -> Int {
    Int(truncatingIfNeeded: bits & ((1 &<< UInt64(indexWidth)) &- 1))
  }

  /// Finds an entry that `table` lacks.
  func longEntry(_ bits: UInt64) -> UInt16 {
    var code = 0
    var first = 0
    var place = 0
    var length = 1
    while length <= Self.longest {
      code |= Int(truncatingIfNeeded: bits &>> UInt64(length - 1) & 1)
      let count = counts[length]
      if code - first < count {
        return symbols[place + code - first] << 4 | UInt16(truncatingIfNeeded: length)
      }
      place += count
      first = (first + count) &<< 1
      code = code &<< 1
      length += 1
    }
    return 0
  }

  private init(fixed lengths: [UInt8]) {
    // The lengths in RFC 1951, 3.2.6, always form a valid code.
    self = HuffmanCode(lengths: lengths[...]) ?? HuffmanCode()
  }

  private init() {
    (table, counts, symbols) = ([UInt16](repeating: 0, count: 1 << Self.indexWidth), [], [])
  }

  static let fixedLiterals = HuffmanCode(
    fixed: [UInt8](repeating: 8, count: 144) + [UInt8](repeating: 9, count: 112)
      + [UInt8](repeating: 7, count: 24) + [UInt8](repeating: 8, count: 8))
  static let fixedDistances = HuffmanCode(fixed: [UInt8](repeating: 5, count: 30))
}
