internal import CrashAnalysis
internal import CrashReport

/// A JSON value; the members of an object stay in the order in which they were given.
enum SentryValue: JSONValue, Sendable, Equatable, ExpressibleByStringLiteral,
  ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByDictionaryLiteral,
  ExpressibleByArrayLiteral
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

  /// Leaves out members that are nil: Sentry treats a missing member like a null one.
  init(dictionaryLiteral elements: (String, SentryValue?)...) {
    self = .object(
      elements.compactMap { name, value in value.map { Member(name: name, value: $0) } })
  }

  init(_ number: Int) { self = .signed(Int64(number)) }
  init(_ number: Int32) { self = .signed(Int64(number)) }
  init(_ number: UInt32) { self = .signed(Int64(number)) }

  /// The value as UTF-8, without white space.
  var json: [UInt8] {
    var writer = JSONWriter()
    write(to: &writer)
    return writer.bytes
  }

  func write(to json: inout JSONWriter) {
    switch self {
    case .text(let text): text.write(to: &json)
    case .signed(let number): number.write(to: &json)
    case .unsigned(let number): number.write(to: &json)
    case .real(let number): number.write(to: &json)
    case .bool(let isTrue): isTrue.write(to: &json)
    case .array(let elements): elements.write(to: &json)
    case .object(let members):
      json.add(orderedMembers: members.map { (name: $0.name, value: $0.value) })
    }
  }
}
