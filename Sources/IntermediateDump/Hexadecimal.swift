extension Sequence<UInt8> {
  /// The bytes in hexadecimal form: two lowercase digits for each byte, without separators.
  package var hexadecimal: String {
    var text: [UInt8] = []
    for byte in self {
      for digit in [byte >> 4, byte & 15] {
        text.append(digit < 10 ? UInt8(ascii: "0") &+ digit : UInt8(ascii: "a") &+ (digit &- 10))
      }
    }
    return String(decoding: text, as: UTF8.self)
  }
}

extension [UInt8] {
  /// Reads bytes in hexadecimal form: two digits, uppercase or lowercase, for each byte, without separators; nil for
  /// anything else.
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

extension FixedWidthInteger {
  /// Reads a number that consists only of digits, without a sign; nil for anything else and for a number that is too
  /// large.
  ///
  /// This initializer replaces the standard library's `init(_:radix:)`, whose specializations add 5 KB for each
  /// caller. It is inlinable, because a generic function needs metadata, which cost 20 page faults at launch.
  @inlinable
  package init?(digits text: Substring, radix: UInt64 = 10) {
    guard let value = numberOfDigits(text.utf8, radix: radix) else { return nil }
    self.init(exactly: value)
  }
}

/// Reads the number from a text that contains only digits, as `FixedWidthInteger.init(digits:radix:)` does.
@inlinable
package func numberOfDigits(_ text: some Collection<UInt8>, radix: UInt64) -> UInt64? {
  var value: UInt64 = 0
  for byte in text {
    let digit: UInt8
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte &- UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte &- UInt8(ascii: "a") &+ 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = byte &- UInt8(ascii: "A") &+ 10
    default: return nil
    }
    let (product, isTooLarge) = value.multipliedReportingOverflow(by: radix)
    let (sum, carries) = product.addingReportingOverflow(UInt64(digit))
    guard digit < radix, !isTooLarge, !carries else { return nil }
    value = sum
  }
  return text.isEmpty ? nil : value
}

extension UnsignedInteger {
  /// The number in lowercase hexadecimal digits without a prefix, padded with zeros to at least `digits` digits.
  package func hexadecimal(digits: Int = 1) -> String {
    let text = String(self, radix: 16)
    return String(repeating: "0", count: Swift.max(0, digits - text.utf8.count)) + text
  }
}
