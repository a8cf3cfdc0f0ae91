/// An object of JSON that writes every key, null for a value that is nil.
///
/// The encoder decides on the order of the keys.
struct JSONObject: Encodable, ExpressibleByDictionaryLiteral {
  private let members: [(key: MemberKey, value: (any Encodable)?)]

  private struct MemberKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  init(dictionaryLiteral elements: (String, (any Encodable)?)...) {
    members = elements.map { (MemberKey(stringValue: $0), $1) }
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: MemberKey.self)
    for (key, value) in members {
      if let value {
        try container.encode(value, forKey: key)
      } else {
        try container.encodeNil(forKey: key)
      }
    }
  }
}

/// A part of a report that is encoded as an object when its turn comes, so that only one part is in
/// memory at a time.
protocol JSONConvertible: Encodable {
  var json: JSONObject { get }
}

extension JSONConvertible {
  func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}
