package import IntermediateDump

/// An intermediate dump as text for people, with one line per entry, indented by depth.
///
/// The line of an entry shows the entry's offset in the file in hexadecimal, the key's name, and the value or the
/// number of elements. If this version does not know the key, the line shows the key's number instead of the name. The
/// first line describes the file. The last line shows whether the dump is complete, or where and why it ends. Text from
/// the dump is escaped, so that it cannot control a terminal.
package struct IntermediateDumpTree: Sendable, TextOutputStreamable {
  /// The maximum number of bytes of a value that are shown in hexadecimal.
  package static let maximumBytes = 16
  /// The maximum number of bytes of a text that are shown.
  package static let maximumText = 200

  private let document: IntermediateDumpDocument

  package init(_ document: IntermediateDumpDocument) {
    self.document = document
  }

  private var architecture: String {
    switch document.architecture {
    case 1: "x86_64"
    case 2: "arm64"
    default: "architecture \(document.architecture)"
    }
  }

  /// Writes the lines, with a line break at the end of each.
  package func write<Target: TextOutputStream>(to target: inout Target) {
    target.write(
      "intermediate dump of version \(IntermediateDumpFormat.version), \(architecture), "
        + "\(document.root.bytes.count) bytes, written by \(Self.escaped(document.writer))\n")
    write(document.root, depth: 0, to: &target)
    target.write(document.damage.map { "torn: \($0)\n" } ?? "complete\n")
  }

  // This recursion is bounded, because the parser limits the depth to `IntermediateDumpFormat.maximumDepth`.
  private func write<Target: TextOutputStream>(
    _ map: IntermediateDumpMap, depth: Int, to target: inout Target
  ) {
    for entry in map.entries {
      write(entry, depth: depth, to: &target)
    }
  }

  private func write<Target: TextOutputStream>(
    _ entry: IntermediateDumpMap.Entry, depth: Int, to target: inout Target
  ) {
    let key = IntermediateDumpKey(rawValue: entry.key)
    let name = key.map { "\($0)" } ?? "key \(entry.key)"
    target.write(UInt64(clamping: entry.offset).hexadecimal(digits: 8))
    target.write(String(repeating: " ", count: 2 + 2 * depth))
    switch entry.value {
    case .property(let range):
      let value = Self.value(document.root.bytes.slice(range) ?? [], kind: key?.kind)
      target.write("\(name) (\(range.count))\(value.isEmpty ? "" : ": ")\(value)\n")
    case .map(let map):
      target.write("\(name) {\(map.entries.count)}\n")
      write(map, depth: depth + 1, to: &target)
    case .array(let elements):
      target.write("\(name) [\(elements.count)]\n")
      for element in elements {
        write(element, depth: depth + 1, to: &target)
      }
    }
  }

  // MARK: - Values

  fileprivate static func value(
    _ bytes: ArraySlice<UInt8>, kind: IntermediateDumpKeyKind?
  ) -> String {
    let isInteger = [1, 2, 4, 8].contains(bytes.count)
    let unsigned = bytes.littleEndian(at: 0, width: bytes.count) ?? 0
    let unused = 64 - 8 * min(bytes.count, 8)
    let signed = Int64(bitPattern: unsigned << unused) >> unused
    switch kind {
    case .unsigned where isInteger: return "\(unsigned)"
    case .signed where isInteger: return "\(signed)"
    case .address where isInteger: return "0x" + unsigned.hexadecimal()
    case .time where bytes.count == 8: return "\(TimeText.utc(nanoseconds: signed)) (\(signed))"
    case .text: return text(bytes)
    // Bytes, values of unknown keys, and values with a size that their kind cannot have are shown in hexadecimal.
    case .unsigned, .signed, .address, .time, .bytes, .map, .array, nil: return preview(bytes)
    }
  }

  private static func text(_ bytes: ArraySlice<UInt8>) -> String {
    let shown = escaped(String(decoding: bytes.prefix(maximumText), as: UTF8.self))
    return bytes.count > maximumText ? "\"\(shown)\" and more" : "\"\(shown)\""
  }

  private static func preview(_ bytes: ArraySlice<UInt8>) -> String {
    let shown = bytes.prefix(maximumBytes).map { $0.hexadecimal(digits: 2) }
      .joined(separator: " ")
    return bytes.count > maximumBytes ? "\(shown) ..." : shown
  }

  /// Replaces characters that could control a terminal with escapes, such as `\n` or `\u{1b}`.
  ///
  /// A backslash is added before quotation marks and backslashes. Other printable ASCII characters, and letters, digits
  /// and most symbols and punctuation of other scripts, stay unchanged.
  private static func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\n": result += "\\n"
      case "\t": result += "\\t"
      case "\"", "\\": result += "\\\(scalar)"
      case " "..."~": result.unicodeScalars.append(scalar)
      default:
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
          .decimalNumber, .otherNumber, .letterNumber, .mathSymbol, .currencySymbol, .otherSymbol,
          .otherPunctuation, .dashPunctuation, .openPunctuation, .closePunctuation:
          result.unicodeScalars.append(scalar)
        default: result += "\\u{\(scalar.value.hexadecimal())}"
        }
      }
    }
    return result
  }
}

// Encodes the same entries as JSON. The value of each entry is a string, because many JSON readers lose bits of numbers
// above 2^53.
extension IntermediateDumpTree: Encodable {
  private enum Key: String, CodingKey {
    case version, architecture, size, writer, complete, damage, entries
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(IntermediateDumpFormat.version, forKey: .version)
    try container.encode(architecture, forKey: .architecture)
    try container.encode(document.root.bytes.count, forKey: .size)
    try container.encode(document.writer, forKey: .writer)
    try container.encode(document.damage == nil, forKey: .complete)
    try container.encode(document.damage.map { "\($0)" }, forKey: .damage)
    try container.encode(
      document.root.entries.map { Entry(entry: $0, bytes: document.root.bytes) }, forKey: .entries)
  }

  private struct Entry: Encodable {
    let entry: IntermediateDumpMap.Entry
    let bytes: DumpBytes

    enum Key: String, CodingKey {
      case offset, key, number, size, value, entries
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Key.self)
      let key = IntermediateDumpKey(rawValue: entry.key)
      try container.encode(entry.offset, forKey: .offset)
      try container.encode(key.map { "\($0)" }, forKey: .key)
      try container.encode(entry.key, forKey: .number)
      switch entry.value {
      case .property(let range):
        try container.encode(range.count, forKey: .size)
        try container.encode(
          IntermediateDumpTree.value(bytes.slice(range) ?? [], kind: key?.kind), forKey: .value)
      case .map(let map): try encode(map.entries, to: &container)
      case .array(let elements): try encode(elements, to: &container)
      }
    }

    private func encode(
      _ inner: [IntermediateDumpMap.Entry], to container: inout KeyedEncodingContainer<Key>
    ) throws {
      try container.encode(inner.map { Entry(entry: $0, bytes: bytes) }, forKey: .entries)
    }
  }
}
