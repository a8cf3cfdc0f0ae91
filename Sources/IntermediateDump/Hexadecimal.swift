extension Sequence<UInt8> {
  /// Two lower-case digits a byte, without separators.
  package var hexadecimal: String {
    var text: [UInt8] = []
    for byte in self {
      text.append(byte.highDigit)
      text.append(byte.lowDigit)
    }
    return String(decoding: text, as: UTF8.self)
  }
}

extension UInt8 {
  /// The two digits of a byte, in ASCII.
  fileprivate var highDigit: UInt8 { Self.digit(self >> 4) }
  fileprivate var lowDigit: UInt8 { Self.digit(self & 15) }

  private static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") &+ value : UInt8(ascii: "a") &+ (value &- 10)
  }
}

extension [UInt8] {
  /// Reads two digits a byte, in either case, without separators; nil for anything else.
  package init?(hexadecimal text: some Collection<UInt8>) {
    guard text.count.isMultiple(of: 2) else { return nil }
    self = []
    reserveCapacity(text.count / 2)
    var high: Int?
    for character in text {
      guard let digit = Character(Unicode.Scalar(character)).hexDigitValue else { return nil }
      if let first = high { append(UInt8(truncatingIfNeeded: first << 4 | digit)) }
      high = high == nil ? digit : nil
    }
  }
}

extension UnsignedInteger {
  /// Lower-case digits without a prefix, with zeros in front up to a count.
  package func hexadecimal(digits: Int = 1) -> String {
    let text = String(self, radix: 16)
    return String(repeating: "0", count: Swift.max(0, digits - text.utf8.count)) + text
  }
}
