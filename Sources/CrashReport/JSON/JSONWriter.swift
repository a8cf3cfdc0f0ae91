internal import CrashAnalysis
internal import IntermediateDump

/// Writes JSON directly as bytes to save memory, because the JSON of a report with a hundred threads takes two
/// megabytes.
///
/// The writer escapes all characters that could control a terminal.
///
/// Source: RFC 8259.
package struct JSONWriter {
  package private(set) var bytes: [UInt8] = []
  private let isIndented: Bool
  private var depth = 0

  /// - Parameter isIndented: true to write each member and element on a separate line, indented by two spaces per
  ///   level; false to write a single line.
  package init(isIndented: Bool = false) {
    self.isIndented = isIndented
  }

  package mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

  // MARK: - Scalars

  /// Adds punctuation or other text that is already JSON.
  package mutating func add(verbatim text: StaticString) {
    unsafe bytes.append(
      contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  package mutating func add(verbatim text: String) { bytes.append(contentsOf: text.utf8) }

  package mutating func add(_ text: String) {
    bytes.append(UInt8(ascii: "\""))
    if text.utf8.allSatisfy(Self.isPlain) {
      bytes.append(contentsOf: text.utf8)
    } else {
      addEscaped(text)
    }
    bytes.append(UInt8(ascii: "\""))
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    byte >= 0x20 && byte < 0x7F && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
  }

  private mutating func addEscaped(_ text: String) {
    guard text.utf8.contains(where: { !Self.isPlain($0) && $0 < 0x7F }) else {
      bytes.append(contentsOf: text.escapedForJSON().utf8)
      return
    }
    var escaped: [UInt8] = []
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): escaped += [UInt8(ascii: "\\"), byte]
      case 0x0A: escaped.append(contentsOf: "\\n".utf8)
      case 0..<0x20: escaped.append(contentsOf: "\\u\(byte.hexadecimal(digits: 4))".utf8)
      default: escaped.append(byte)
      }
    }
    bytes.append(contentsOf: String(decoding: escaped, as: UTF8.self).escapedForJSON().utf8)
  }

  // MARK: - Arrays and objects

  package mutating func add(_ elements: some Sequence<some JSONValue>) {
    var isEmpty = true
    for element in elements {
      begin("[", isFirst: isEmpty)
      isEmpty = false
      element.write(to: &self)
    }
    end(isEmpty ? "[]" : "]", isEmpty: isEmpty)
  }

  /// Adds an object with its members sorted by name; a value of nil is written as null.
  package mutating func add(members: [(name: String, value: (any JSONValue)?)]) {
    add(orderedMembers: members.sorted { $0.name < $1.name })
  }

  /// Adds an object with its members in the given order; a value of nil is written as null.
  package mutating func add(orderedMembers members: [(name: String, value: (any JSONValue)?)]) {
    for (index, member) in members.enumerated() {
      begin("{", isFirst: index == 0)
      add(member.name)
      add(verbatim: isIndented ? " : " : ":" as StaticString)
      if let value = member.value {
        value.write(to: &self)
      } else {
        add(verbatim: "null")
      }
    }
    end(members.isEmpty ? "{}" : "}", isEmpty: members.isEmpty)
  }

  /// Begins an element: adds the opening bracket if the element is the first, otherwise a comma.
  private mutating func begin(_ bracket: StaticString, isFirst: Bool) {
    add(verbatim: isFirst ? bracket : ",")
    if isFirst { depth += 1 }
    breakLine()
  }

  private mutating func end(_ bracket: StaticString, isEmpty: Bool) {
    if !isEmpty {
      depth -= 1
      breakLine()
    }
    add(verbatim: bracket)
  }

  private mutating func breakLine() {
    guard isIndented else { return }
    bytes.append(UInt8(ascii: "\n"))
    bytes.append(contentsOf: repeatElement(UInt8(ascii: " "), count: 2 * depth))
  }
}

/// A value that a `JSONWriter` can write.
package protocol JSONValue {
  func write(to json: inout JSONWriter)
}

extension String: JSONValue {
  package func write(to json: inout JSONWriter) { json.add(self) }
}

extension Bool: JSONValue {
  package func write(to json: inout JSONWriter) {
    json.add(verbatim: self ? "true" : "false" as StaticString)
  }
}

extension JSONValue where Self: FixedWidthInteger {
  package func write(to json: inout JSONWriter) { json.add(verbatim: String(self)) }
}

extension Int: JSONValue {}
extension Int32: JSONValue {}
extension Int64: JSONValue {}
extension UInt8: JSONValue {}
extension UInt32: JSONValue {}
extension UInt64: JSONValue {}

extension Double: JSONValue {
  package func write(to json: inout JSONWriter) {
    json.add(verbatim: isFinite ? "\(self)" : "null")
  }
}

extension Array: JSONValue where Element: JSONValue {
  package func write(to json: inout JSONWriter) { json.add(self) }
}

extension Dictionary: JSONValue where Key == String, Value: JSONValue {
  package func write(to json: inout JSONWriter) {
    json.add(members: map { (name: $0.key, value: $0.value) })
  }
}

/// A JSON object; keys whose value is nil are written with null.
struct JSONObject: JSONValue, ExpressibleByDictionaryLiteral {
  private var members: [(name: String, value: (any JSONValue)?)]

  init(dictionaryLiteral elements: (String, (any JSONValue)?)...) {
    members = elements.map { (name: $0, value: $1) }
  }

  func adding(members more: [(name: String, value: (any JSONValue)?)]) -> JSONObject {
    var object = self
    object.members += more
    return object
  }

  func write(to json: inout JSONWriter) { json.add(members: members) }
}

/// A part of a report that is converted to a JSON object only when it is written.
///
/// Therefore, only one element of a long array is in memory as a JSON object at a time.
protocol JSONConvertible: JSONValue {
  var json: JSONObject { get }
}

extension JSONConvertible {
  func write(to json: inout JSONWriter) { self.json.write(to: &json) }
}
