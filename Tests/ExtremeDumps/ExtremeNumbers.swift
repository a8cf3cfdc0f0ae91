/// Numbers at the limits of a field's range, the same for the same seed.
///
/// Uniformly distributed numbers rarely hit a limit, so most of these are limits or their neighbors.
struct ExtremeNumbers: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  /// Returns the next number by SplitMix64.
  ///
  /// Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators".
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }

  private static let limits: [UInt64] = [
    0, 1, 8, 0xFFF, 0x1000, 0x2000, 1 << 16, 1 << 20, 1 << 31, (1 << 31) - 1, 1 << 32,
    (1 << 32) - 1, 1 << 40, (1 << 47) - 0x1000, (1 << 47) - 1, 1 << 47, 1 << 60, (1 << 63) - 1,
    1 << 63, 0 &- (1 << 47), 0 &- 0x10_0000, 0 &- 0x2000, 0 &- 0x1000, 0 &- 512, 0 &- 16, 0 &- 8,
    0 &- 1,
  ]

  private static let steps: [UInt64] = [
    0, 0, 0, 1, 2, 7, 8, 16, 63, 64, 128, 512, 0xFFF, 0x1000, 0x1001, 0x4000, 1 << 20,
  ]

  /// True in the given percentage of cases.
  mutating func chance(_ percent: UInt64) -> Bool { next() % 100 < percent }

  /// A number from 0 up to, and not including, a positive limit.
  mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(limit)) }

  mutating func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }

  /// A limit, or a number close to one.
  mutating func number() -> UInt64 {
    switch below(8) {
    case 0: next()
    case 1: next() >> (next() % 64)
    default: near(pick(Self.limits))
    }
  }

  /// A number close to another one, on either side; it wraps around at the ends of the range.
  mutating func near(_ number: UInt64) -> UInt64 {
    let step = pick(Self.steps)
    return chance(50) ? number &+ step : number &- step
  }

  /// A number of few bits, such as a count or an enumeration; sometimes any number.
  mutating func small() -> UInt64 { chance(85) ? next() % 8 : number() }

  mutating func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) }
  }

  /// Words, most of which are limits.
  mutating func words(_ count: Int) -> [UInt8] {
    (0..<count).flatMap { _ in ExtremeBytes.word(number()) }
  }

  private static let texts = [
    "", " ", "\n", "/", "//", "a", "(", ")", "<", ">", "::", " in ", "closure #", "\u{0}", "\\",
    "-1",
    "nan", "inf", "-inf", "1e999", "0x10", "9223372036854775807", "9223372036854775808",
    "-9223372036854775808", "18446744073709551615", "18446744073709551616", "%s%n", "\u{1B}[31m",
    "\u{202E}", "\u{FEFF}", "e\u{301}", "Fatal error: Index out of range", "File.swift:1: Fatal",
    "$s4main3AppV1fyyF", "_ZN3foo3barEv", "_ZSt9terminatev", "St9bad_alloc", "*", "$s", "_Z",
    "_ZTS",
    "Linux", "(deleted)", "free(): invalid pointer", "Assertion `x' failed.",
  ]

  mutating func text() -> String {
    var text = ""
    for _ in 0..<(1 + below(3)) { text += pick(Self.texts) }
    if chance(3) {
      // Text that demanglers and recursive loops descend into.
      let nest = pick(["P", "Say", "(", "<", "closure #1 in ", "I", "N1a", "\u{301}", "a::", "\n"])
      text += String(repeating: nest, count: 1 + below(chance(10) ? 40_000 : 400))
    }
    if chance(5) { text = pick(["_Z", "$s", "_ZTS", "$S", "_T0"]) + text }
    return text
  }

  mutating func time() -> Int64 {
    switch below(6) {
    case 0: .min
    case 1: .max
    case 2: Int64(bitPattern: number())
    case 3: -1
    default: 1_700_000_000_000_000_000 &+ Int64(truncatingIfNeeded: next() % 4_000_000_000_000)
    }
  }
}

/// Little-endian bytes.
enum ExtremeBytes {
  static func word(_ value: UInt64, _ width: Int = 8) -> [UInt8] {
    (0..<width).map { UInt8(truncatingIfNeeded: value >> (8 * UInt64($0))) }
  }

  static func put(_ value: UInt64, _ width: Int = 8, at offset: Int, in bytes: inout [UInt8]) {
    for (index, byte) in word(value, width).enumerated() where offset + index < bytes.count {
      bytes[offset + index] = byte
    }
  }
}
