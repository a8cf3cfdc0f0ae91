/// An object of JSON that has every key, null for a value that is nil.
struct JSONObject: JSONValue, ExpressibleByDictionaryLiteral {
  private let members: [(name: String, value: (any JSONValue)?)]

  init(dictionaryLiteral elements: (String, (any JSONValue)?)...) {
    members = elements.map { (name: $0, value: $1) }
  }

  func write(to json: inout JSONWriter) { json.add(members: members) }
}

/// A part of a report that becomes an object when its turn comes, so that only one part is in memory at a
/// time.
protocol JSONConvertible: JSONValue {
  var json: JSONObject { get }
}

extension JSONConvertible {
  func write(to json: inout JSONWriter) { self.json.write(to: &json) }
}
