internal import IntermediateDump

/// A value of JSON, with its members in the order in which they were given.
enum SentryValue: Sendable, Equatable, ExpressibleByStringLiteral, ExpressibleByBooleanLiteral,
  ExpressibleByIntegerLiteral, ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral
{
  case text(String)
  case signed(Int64)
  case unsigned(UInt64)
  case real(Double)
  case bool(Bool)
  case array([SentryValue])
  case object([Member])

  struct Member: Sendable, Equatable {
    let name: String
    let value: SentryValue
  }

  init(stringLiteral value: String) { self = .text(value) }
  init(booleanLiteral value: Bool) { self = .bool(value) }
  init(integerLiteral value: Int64) { self = .signed(value) }
  init(arrayLiteral elements: SentryValue...) { self = .array(elements) }

  /// Leaves out what is nil: Sentry takes a missing member and one that is null for the same.
  init(dictionaryLiteral elements: (String, SentryValue?)...) {
    self = .object(
      elements.compactMap { name, value in value.map { Member(name: name, value: $0) } })
  }

  init(_ number: Int) { self = .signed(Int64(number)) }
  init(_ number: Int32) { self = .signed(Int64(number)) }
  init(_ number: UInt32) { self = .signed(Int64(number)) }

  /// The first members of a name; nil for none, and for what is no object.
  subscript(name: String) -> SentryValue? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.name == name }?.value
  }

  /// The elements of an array; empty for anything else.
  var elements: [SentryValue] { if case .array(let elements) = self { elements } else { [] } }

  var string: String? { if case .text(let text) = self { text } else { nil } }

  /// The value as UTF-8, without white space.
  var json: [UInt8] {
    var bytes: [UInt8] = []
    write(to: &bytes)
    return bytes
  }

  private func write(to bytes: inout [UInt8]) {
    switch self {
    case .text(let text): Self.write(text, to: &bytes)
    case .signed(let number): bytes += Array("\(number)".utf8)
    case .unsigned(let number): bytes += Array("\(number)".utf8)
    case .real(let number): bytes += Array((number.isFinite ? "\(number)" : "null").utf8)
    case .bool(let isTrue): bytes += Array((isTrue ? "true" : "false").utf8)
    case .array(let elements):
      bytes.append(UInt8(ascii: "["))
      for (index, element) in elements.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        element.write(to: &bytes)
      }
      bytes.append(UInt8(ascii: "]"))
    case .object(let members):
      bytes.append(UInt8(ascii: "{"))
      for (index, member) in members.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        Self.write(member.name, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        member.value.write(to: &bytes)
      }
      bytes.append(UInt8(ascii: "}"))
    }
  }

  /// Source: RFC 8259, 7.
  private static func write(_ text: String, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"):
        bytes.append(UInt8(ascii: "\\"))
        bytes.append(byte)
      case 0..<0x20: bytes += Array("\\u00\(byte.hexadecimal(digits: 2))".utf8)
      default: bytes.append(byte)
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }
}
