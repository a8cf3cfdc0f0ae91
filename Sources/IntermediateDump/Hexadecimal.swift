extension Sequence<UInt8> {
  /// Two lower-case digits a byte, without separators.
  package var hexadecimal: String { map { $0.hexadecimal(digits: 2) }.joined() }
}

extension UnsignedInteger {
  /// Lower-case digits without a prefix, with zeros in front up to a count.
  package func hexadecimal(digits: Int = 1) -> String {
    let text = String(self, radix: 16)
    return String(repeating: "0", count: Swift.max(0, digits - text.utf8.count)) + text
  }
}
