internal import IntermediateDump

/// Expands zlib streams, which compressed sections of debug information contain.
///
/// The output is limited to the size that the caller passes.
///
/// Source: RFC 1950 (zlib), RFC 1951 (deflate).
struct Inflate {
  private let input: [UInt8]
  private var position: Int
  private var bits: UInt64 = 0
  private var bitCount = 0
  private var output: [UInt8]
  private var produced = 0

  /// Expands a complete zlib stream.
  ///
  /// - Parameters:
  ///   - bytes: bytes that contain the stream.
  ///   - start: the index of the stream's first byte; bytes after the end of the stream are ignored.
  ///   - size: the size in bytes that the section announces for the expanded contents; the caller has checked that it
  ///     is not too large.
  /// - Returns: the expanded bytes; nil if the stream is damaged or the number of bytes is not `size`.
  static func expand(_ bytes: [UInt8], from start: Int, size: Int) -> [UInt8]? {
    guard start >= 0, start <= bytes.count - 6, size >= 0 else { return nil }
    let header = UInt16(bytes[start]) << 8 | UInt16(bytes[start + 1])
    // The header must have method 8 (deflate), a valid checksum, and no preset dictionary.
    guard header & 0x0F00 == 0x0800, header % 31 == 0, header & 0x20 == 0 else { return nil }
    var inflate = Inflate(input: bytes, position: start + 2, size: size)
    guard inflate.blocks(), inflate.produced == size, inflate.checksumFits() else { return nil }
    return inflate.output
  }

  private init(input: [UInt8], position: Int, size: Int) {
    self.input = input
    self.position = position
    output = [UInt8](repeating: 0, count: size)
  }

  private mutating func blocks() -> Bool {
    while true {
      guard let last = take(1), let type = take(2) else { return false }
      let isDone =
        switch type {
        case 0: stored()
        case 1: compressed(HuffmanCode.fixedLiterals, HuffmanCode.fixedDistances)
        case 2: dynamic()
        default: false
        }
      guard isDone else { return false }
      if last == 1 { return true }
    }
  }

  /// Fills `bits` with at least `count` bits, if the input has that many left.
  private mutating func fill(_ count: Int) {
    guard bitCount < count else { return }
    // The shifted word can set bits of a byte that `bitCount` does not count yet. The next call sets these bits to
    // the same values again.
    if position <= input.count - 8, let word = input.littleEndian(at: position, as: UInt64.self) {
      bits |= word << UInt64(bitCount)
      let taken = (63 - bitCount) / 8
      position += taken
      bitCount += 8 * taken
      return
    }
    bits &= (1 << UInt64(bitCount)) &- 1
    while bitCount < count, position < input.count {
      bits |= UInt64(input[position]) << UInt64(bitCount)
      position += 1
      bitCount += 8
    }
  }

  private mutating func take(_ count: Int) -> Int? {
    fill(count)
    guard bitCount >= count else { return nil }
    let value = Int(truncatingIfNeeded: bits & ((1 << UInt64(count)) &- 1))
    bits >>= UInt64(count)
    bitCount -= count
    return value
  }

  private mutating func symbol(_ code: HuffmanCode) -> Int? {
    fill(HuffmanCode.longest)
    let entry = code.entry(bits)
    let length = Int(entry & 15)
    guard length > 0, length <= bitCount else { return nil }
    bits >>= UInt64(length)
    bitCount -= length
    return Int(entry >> 4)
  }

  private mutating func stored() -> Bool {
    // Drop the rest of the current byte, and return whole bytes that were read ahead.
    position -= bitCount / 8
    bits = 0
    bitCount = 0
    guard let size = input.littleEndian(at: position, as: UInt16.self),
      input.littleEndian(at: position + 2, as: UInt16.self) == ~size
    else { return false }
    let count = Int(size)
    position += 4
    guard count <= input.count - position, count <= output.count - produced else { return false }
    for index in 0..<count { output[produced + index] = input[position + index] }
    position += count
    produced += count
    return true
  }

  private mutating func dynamic() -> Bool {
    guard let literalCount = take(5), let distanceCount = take(5), let lengthCount = take(4),
      literalCount <= 29, distanceCount <= 29
    else { return false }
    let order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]
    var lengths = [UInt8](repeating: 0, count: 19)
    for index in 0..<lengthCount + 4 {
      guard let length = take(3) else { return false }
      lengths[order[index]] = UInt8(truncatingIfNeeded: length)
    }
    guard let code = HuffmanCode(lengths: lengths[...]),
      let all = codeLengths(code, count: literalCount + 257 + distanceCount + 1),
      let literals = HuffmanCode(lengths: all[..<(literalCount + 257)]),
      let distances = HuffmanCode(lengths: all[(literalCount + 257)...])
    else { return false }
    return compressed(literals, distances)
  }

  /// Reads the code lengths for the literals and distances of a block; the lengths are run-length coded.
  private mutating func codeLengths(_ code: HuffmanCode, count: Int) -> [UInt8]? {
    var lengths: [UInt8] = []
    while lengths.count < count {
      guard let symbol = symbol(code) else { return nil }
      if symbol < 16 {
        lengths.append(UInt8(truncatingIfNeeded: symbol))
        continue
      }
      guard let extra = take(symbol == 16 ? 2 : symbol == 17 ? 3 : 7) else { return nil }
      guard symbol != 16 || !lengths.isEmpty else { return nil }
      let length = symbol == 16 ? lengths[lengths.count - 1] : 0
      let times = extra + (symbol == 18 ? 11 : 3)
      guard times <= count - lengths.count else { return nil }
      lengths += repeatElement(length, count: times)
    }
    return lengths
  }

  private static let lengthBases = [
    3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131,
    163, 195, 227, 258,
  ]
  private static let lengthBits = [
    0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0,
  ]
  private static let distanceBases = [
    1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049,
    3073, 4097, 6145, 8193, 12289, 16385, 24577,
  ]

  private mutating func compressed(_ literals: HuffmanCode, _ distances: HuffmanCode) -> Bool {
    while let symbol = symbol(literals) {
      if symbol < 256 {
        guard produced < output.count else { return false }
        output[produced] = UInt8(truncatingIfNeeded: symbol)
        produced += 1
        continue
      }
      if symbol == 256 { return true }
      guard symbol - 257 < Self.lengthBases.count,
        let more = take(Self.lengthBits[symbol - 257]),
        let code = self.symbol(distances), code < Self.distanceBases.count,
        let further = take(max(0, code / 2 - 1))
      else { return false }
      let length = Self.lengthBases[symbol - 257] + more
      let distance = Self.distanceBases[code] + further
      guard distance <= produced, length <= output.count - produced else { return false }
      unsafe output.withUnsafeMutableBufferPointer { output in
        // The bytes must be copied one by one: if the source overlaps the target, it contains bytes that this loop
        // copies.
        var target = produced
        while target < produced + length {
          unsafe output[target] = unsafe output[target - distance]
          target += 1
        }
      }
      produced += length
    }
    return false
  }

  /// Compares the Adler-32 checksum that follows the stream with the checksum of the output.
  private mutating func checksumFits() -> Bool {
    position -= bitCount / 8
    guard let stored = input.littleEndian(at: position, as: UInt32.self)?.byteSwapped else {
      return false
    }
    var low: UInt32 = 1
    var high: UInt32 = 0
    var index = 0
    while index < output.count {
      // Both sums are reduced only after every 5,552 additions, because that many additions cannot overflow 32 bits.
      let end = min(output.count, index + 5552)
      while index < end {
        low &+= UInt32(output[index])
        high &+= low
        index += 1
      }
      low %= 65521
      high %= 65521
    }
    return stored == high << 16 | low
  }
}

/// A prefix code of deflate.
///
/// Codes of up to ten bits are in a table, whose index is the next ten bits of the input. Longer codes are found bit by
/// bit with `counts` and `symbols`.
struct HuffmanCode {
  static let longest = 15
  private static let indexWidth = 10

  /// Each entry has a symbol in the upper 12 bits and the length of its code in the lower 4 bits.
  ///
  /// The index is the next ten bits of the input, with the first bit lowest. The entry is 0 if these bits do not begin
  /// with a complete code.
  private let table: [UInt16]
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
    for (symbol, length) in lengths.enumerated() where length > 0 {
      let width = Int(length)
      symbols[place[width]] = UInt16(truncatingIfNeeded: symbol)
      place[width] += 1
      if width <= Self.indexWidth {
        var reversed = 0
        for bit in 0..<width where next[width] & (1 << bit) != 0 {
          reversed |= 1 << (width - 1 - bit)
        }
        for index in stride(from: reversed, to: table.count, by: 1 << width) {
          table[index] = UInt16(truncatingIfNeeded: symbol) << 4 | UInt16(length)
        }
      }
      next[width] += 1
    }
    (self.table, self.counts, self.symbols) = (table, counts, symbols)
  }

  /// Finds the symbol that the lowest bits encode, in the form of an entry of `table`; 0 if there is no such symbol.
  func entry(_ bits: UInt64) -> UInt16 {
    let index = Int(truncatingIfNeeded: bits & ((1 << UInt64(Self.indexWidth)) &- 1))
    let entry = table[index]
    return entry != 0 ? entry : longEntry(bits)
  }

  private func longEntry(_ bits: UInt64) -> UInt16 {
    var (code, first, place) = (0, 0, 0)
    for length in 1...Self.longest {
      code |= Int(truncatingIfNeeded: bits >> UInt64(length - 1) & 1)
      let count = counts[length]
      if code - first < count {
        return symbols[place + code - first] << 4 | UInt16(truncatingIfNeeded: length)
      }
      place += count
      first = (first + count) << 1
      code <<= 1
    }
    return 0
  }

  private init(fixed lengths: [UInt8]) {
    // The lengths in RFC 1951, 3.2.6, always form a valid code.
    self = HuffmanCode(lengths: lengths[...]) ?? HuffmanCode()
  }

  private init() { (table, counts, symbols) = ([], [], []) }

  static let fixedLiterals = HuffmanCode(
    fixed: [UInt8](repeating: 8, count: 144) + [UInt8](repeating: 9, count: 112)
      + [UInt8](repeating: 7, count: 24) + [UInt8](repeating: 8, count: 8))
  static let fixedDistances = HuffmanCode(fixed: [UInt8](repeating: 5, count: 30))
}
