/// A text of lines that are each a label, a separator and a value, such as `/proc/cpuinfo` and
/// os-release(5).
struct LabelledText {
  private var values: [String: String] = [:]

  /// Blanks and quotes around labels and values are taken away; the first line of a label counts.
  init(_ text: [UInt8]?, separator: Character) {
    for line in String(decoding: text ?? [], as: UTF8.self).split(separator: "\n") {
      let parts = line.split(separator: separator, maxSplits: 1)
      guard parts.count == 2 else { continue }
      let label = Self.trimmed(parts[0])
      if values[label] == nil { values[label] = Self.trimmed(parts[1]) }
    }
  }

  subscript(label: String) -> String? { values[label] }

  private static func trimmed(_ part: Substring) -> String {
    let ends: Set<Character> = [" ", "\t", "\"", "\r"]
    let start = part.drop { ends.contains($0) }
    guard let last = start.lastIndex(where: { !ends.contains($0) }) else { return "" }
    return String(start[...last])
  }
}
