internal import ProcessSnapshot

/// An address, offset or register value, which JSON holds as a string such as "0x7ffc0010".
///
/// A string, because JSON readers lose bits of numbers above 2^53.
public struct HexAddress: Hashable, Sendable, Codable, CustomStringConvertible {
  public var value: UInt64

  public init(_ value: UInt64) { self.value = value }

  var address: Address { Address(value) }

  public var description: String { "0x" + String(value, radix: 16) }

  /// At least 12 digits, as wide as most user addresses, so that columns stay straight.
  var padded: String {
    let digits = String(value, radix: 16)
    return "0x" + String(repeating: "0", count: max(0, 12 - digits.count)) + digits
  }

  /// 16 digits without a prefix, for registers.
  var wide: String {
    let digits = String(value, radix: 16)
    return String(repeating: "0", count: max(0, 16 - digits.count)) + digits
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    guard text.hasPrefix("0x"), let value = UInt64(text.dropFirst(2), radix: 16) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "not a hexadecimal address: \(text)")
    }
    self.value = value
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}

extension Address {
  /// As JSON has it.
  var hex: HexAddress { HexAddress(value) }
}
