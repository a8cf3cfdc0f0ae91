/// Expands zlib streams, which compressed sections of debug information contain.
///
/// The output is limited to the size that the caller passes. The loops that run for each byte use pointers and plain
/// integers, so that an unoptimized build expands megabytes in a fraction of a second, too.
///
/// Source: RFC 1950 (zlib), RFC 1951 (deflate).
@safe struct Inflate {
  private let input: UnsafeBufferPointer<UInt8>
  private let inputSize: Int
  private var position: Int
  private var bits: UInt64 = 0
  private var bitCount = 0
  private let output: UnsafeMutableBufferPointer<UInt8>
  private let outputSize: Int
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
    var isWhole = false
    let expanded = unsafe [UInt8](unsafeUninitializedCapacity: size) { output, count in
      unsafe bytes.withUnsafeBufferPointer { input in
        // The array may have more capacity than was asked for.
        let output = unsafe UnsafeMutableBufferPointer(rebasing: output[..<size])
        var inflate = unsafe Inflate(input: input, position: start + 2, output: output)
        isWhole = inflate.blocks() && inflate.produced == size && inflate.checksumFits()
        count = inflate.produced
      }
    }
    return isWhole ? expanded : nil
  }

  private init(
    input: UnsafeBufferPointer<UInt8>, position: Int, output: UnsafeMutableBufferPointer<UInt8>
  ) {
    unsafe (self.input, self.output) = (input, output)
    (inputSize, outputSize) = (input.count, output.count)
    self.position = position
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

  /// Fills `bits` with at least 48 bits, if the input has that many left.
  private mutating func fill() {
    // The shifted word can set bits of a byte that `bitCount` does not count yet. The next call sets these bits to
    // the same values again.
    if position <= inputSize - 8 {
      let word = unsafe UnsafeRawBufferPointer(input).loadUnaligned(
        fromByteOffset: position, as: UInt64.self)
      bits |= UInt64(littleEndian: word) &<< UInt64(bitCount)
      let taken = (63 - bitCount) / 8
      position += taken
      bitCount += 8 * taken
      return
    }
    bits &= (1 &<< UInt64(bitCount)) &- 1
    while bitCount < 48, position < inputSize {
      bits |= unsafe UInt64(input[position]) &<< UInt64(bitCount)
      position += 1
      bitCount += 8
    }
  }

  /// Reads at most 48 bits; nil if the input has fewer left.
  private mutating func take(_ count: Int) -> Int? {
    if bitCount < count { fill() }
    guard bitCount >= count else { return nil }
    return takeFilled(count)
  }

  /// Reads bits that `fill` has provided; without them, `bitCount` becomes negative, and the result is meaningless.
  private mutating func takeFilled(_ count: Int) -> Int {
    let value = Int(truncatingIfNeeded: bits & ((1 &<< UInt64(count)) &- 1))
    bits = bits &>> UInt64(count)
    bitCount -= count
    return value
  }

  private mutating func symbol(_ code: HuffmanCode) -> Int? {
    if bitCount < HuffmanCode.longest { fill() }
    let entry = code.entry(bits)
    let length = Int(entry & 15)
    guard length > 0, length <= bitCount else { return nil }
    bits >>= UInt64(length)
    bitCount -= length
    return Int(entry >> 4)
  }

  private mutating func stored() -> Bool {
    dropReadAhead()
    guard let count = take(16), let complement = take(16), count ^ complement == 0xFFFF else {
      return false
    }
    dropReadAhead()
    guard count <= inputSize - position, count <= outputSize - produced else { return false }
    for _ in 0..<count {
      unsafe output[produced] = unsafe input[position]
      produced += 1
      position += 1
    }
    return true
  }

  /// Drops the rest of the current byte, and returns whole bytes that were read ahead.
  private mutating func dropReadAhead() {
    position -= bitCount / 8
    bits = 0
    bitCount = 0
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

  private mutating func compressed(_ literals: HuffmanCode, _ distances: HuffmanCode) -> Bool {
    unsafe literals.table.withUnsafeBufferPointer { literalTable in
      unsafe distances.table.withUnsafeBufferPointer { distanceTable in
        while true {
          // A length and a distance take at most 48 bits.
          if bitCount < 48 { fill() }
          var entry = unsafe literalTable[HuffmanCode.index(bits)]
          if entry == 0 { entry = literals.longEntry(bits) }
          bits = bits &>> UInt64(entry & 15)
          bitCount -= Int(entry & 15)
          guard entry != 0, bitCount >= 0 else { return false }
          let symbol = Int(entry &>> 4)
          if symbol < 256 {
            guard produced < outputSize else { return false }
            unsafe output[produced] = UInt8(truncatingIfNeeded: symbol)
            produced += 1
            continue
          }
          if symbol == 256 { return true }
          guard let length = length(symbol - 257) else { return false }
          entry = unsafe distanceTable[HuffmanCode.index(bits)]
          if entry == 0 { entry = distances.longEntry(bits) }
          bits = bits &>> UInt64(entry & 15)
          bitCount -= Int(entry & 15)
          guard entry != 0, let distance = distance(Int(entry &>> 4)), bitCount >= 0,
            distance <= produced, length <= outputSize - produced
          else { return false }
          copy(length, from: distance)
        }
      }
    }
  }

  /// Reads the rest of a length; nil if its code is reserved.
  ///
  /// Source: RFC 1951, 3.2.5; each four codes from the eighth on have one more bit.
  private mutating func length(_ code: Int) -> Int? {
    if code < 8 { return code + 3 }
    guard code < 28 else { return code == 28 ? 258 : nil }
    let width = code / 4 - 1
    return 3 + ((4 + code % 4) &<< width) + takeFilled(width)
  }

  /// Reads the rest of a distance; nil if its code is reserved.
  ///
  /// Source: RFC 1951, 3.2.5; each two codes from the fourth on have one more bit.
  private mutating func distance(_ code: Int) -> Int? {
    if code < 4 { return code + 1 }
    guard code < 30 else { return nil }
    let width = code / 2 - 1
    return 1 + ((2 + code % 2) &<< width) + takeFilled(width)
  }

  /// Repeats bytes that begin at a distance before the end of the output; the caller has checked both numbers.
  private mutating func copy(_ length: Int, from distance: Int) {
    guard let start = unsafe output.baseAddress else { return }
    let target = unsafe start + produced
    produced += length
    if distance >= length {
      unsafe target.update(from: target - distance, count: length)
      return
    }
    // The source overlaps the target, so it contains bytes that this loop copies.
    var index = 0
    while index < length {
      unsafe target[index] = unsafe target[index - distance]
      index &+= 1
    }
  }

  /// Compares the Adler-32 checksum that follows the stream with the checksum of the output.
  private mutating func checksumFits() -> Bool {
    dropReadAhead()
    guard let stored = take(32) else { return false }
    var low: UInt32 = 1
    var high: UInt32 = 0
    var index = 0
    while index < outputSize {
      // Both sums are reduced only after every 5,552 additions, because that many additions cannot overflow 32 bits.
      let end = min(outputSize, index + 5552)
      guard let bytes = unsafe output.baseAddress else { return false }
      while index < end {
        low &+= UInt32(unsafe bytes[index])
        high &+= low
        index &+= 1
      }
      low %= 65521
      high %= 65521
    }
    return UInt32(truncatingIfNeeded: stored).byteSwapped == high << 16 | low
  }
}
