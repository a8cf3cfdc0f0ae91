internal import Foundation

/// A JSON schema with the keywords that this package's schema uses.
///
/// These are type, const, enum, pattern, minimum, properties, required, items, additionalProperties, anyOf and
/// references within the schema.
public struct JSONSchema {
  private enum Value: Decodable, Equatable {
    case null
    case boolean(Bool)
    case integer(Int64)
    /// A whole number that is too large for `Int`, or a number with a fraction.
    case number(Double)
    case string(String)
    case array([Value])
    case object([String: Value])

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if container.decodeNil() {
        self = .null
      } else if let value = try? container.decode(Bool.self) {
        self = .boolean(value)
      } else if let value = try? container.decode(Int64.self) {
        self = .integer(value)
      } else if let value = try? container.decode(Double.self) {
        self = .number(value)
      } else if let value = try? container.decode(String.self) {
        self = .string(value)
      } else if let value = try? container.decode([Value].self) {
        self = .array(value)
      } else {
        self = .object(try container.decode([String: Value].self))
      }
    }

    var type: String {
      switch self {
      case .null: "null"
      case .boolean: "boolean"
      case .integer: "integer"
      case .number(let value): value == value.rounded() ? "integer" : "number"
      case .string: "string"
      case .array: "array"
      case .object: "object"
      }
    }

    var text: String? { if case .string(let text) = self { text } else { nil } }
    var list: [Value] { if case .array(let list) = self { list } else { [] } }
    var members: [String: Value] { if case .object(let members) = self { members } else { [:] } }
    var double: Double? {
      switch self {
      case .integer(let value): Double(value)
      case .number(let value): value
      default: nil
      }
    }

    subscript(key: String) -> Value? { members[key] }
  }

  private let root: Value

  public init(path: String) throws {
    let data = try Data(contentsOf: URL(fileURLWithPath: path))
    root = try JSONDecoder().decode(Value.self, from: data)
  }

  /// The errors in a document: values that the schema forbids, and unknown keys.
  public func errors(in json: String) throws -> [String] {
    errors(try JSONDecoder().decode(Value.self, from: Data(json.utf8)), root, at: "$")
  }

  /// The words that a property of a definition may have.
  public func words(_ property: String, of definition: String) -> [String] {
    self[property, of: definition]?["enum"]?.list.compactMap(\.text) ?? []
  }

  /// The types that a property of a definition may have, and the definitions that it refers to.
  public func types(_ property: String, of definition: String) -> [String] {
    guard let property = self[property, of: definition] else { return [] }
    return [property["type"]?.text, property["$ref"]?.text].compactMap(\.self)
      + (property["type"]?.list.compactMap(\.text) ?? [])
      + (property["anyOf"]?.list.compactMap { $0["$ref"]?.text } ?? [])
  }

  /// True if a definition has a property.
  public func has(_ property: String, of definition: String) -> Bool {
    self[property, of: definition] != nil
  }

  /// A property of a definition; of the document itself if the definition's name is empty.
  private subscript(property: String, of definition: String) -> Value? {
    (definition.isEmpty ? root : root["$defs"]?[definition])?["properties"]?[property]
  }

  private func errors(_ value: Value, _ schema: Value, at place: String) -> [String] {
    if let reference = schema["$ref"]?.text {
      let name = String(reference.dropFirst("#/$defs/".count))
      guard let definition = root["$defs"]?[name] else { return ["\(place): no \(reference)"] }
      return errors(value, definition, at: place)
    }
    if let choices = schema["anyOf"]?.list {
      let all = choices.map { errors(value, $0, at: place) }
      return all.contains { $0.isEmpty } ? [] : all.flatMap { $0 }
    }
    let types = schema["type"]?.text.map { [$0] } ?? schema["type"]?.list.compactMap(\.text)
    if let types, !types.contains(value.type),
      !(value.type == "integer" && types.contains("number"))
    {
      return ["\(place): \(value.type), not \(types.joined(separator: " or "))"]
    }
    var result: [String] = []
    if let constant = schema["const"], constant != value {
      result.append("\(place): not \(constant)")
    }
    if let words = schema["enum"]?.list, !words.contains(value) {
      result.append("\(place): \(value) is no word of the schema")
    }
    if let pattern = schema["pattern"]?.text, let text = value.text,
      text.range(of: pattern, options: .regularExpression) == nil
    {
      result.append("\(place): \(text) does not match \(pattern)")
    }
    if let minimum = schema["minimum"]?.double, let number = value.double, number < minimum {
      result.append("\(place): \(number) is less than \(minimum)")
    }
    if case .object = value { result += errors(ofMembers: value.members, schema, at: place) }
    if let items = schema["items"] {
      for (index, item) in value.list.enumerated() {
        result += errors(item, items, at: "\(place)[\(index)]")
      }
    }
    return result
  }

  private func errors(
    ofMembers members: [String: Value], _ schema: Value, at place: String
  ) -> [String] {
    let required = schema["required"]?.list.compactMap(\.text) ?? []
    var result = required.filter { members[$0] == nil }.map { "\(place): no \($0)" }
    for (key, member) in members {
      if let known = schema["properties"]?[key] ?? schema["additionalProperties"] {
        result += errors(member, known, at: "\(place).\(key)")
      } else {
        result.append("\(place).\(key): not in the schema")
      }
    }
    return result
  }
}
