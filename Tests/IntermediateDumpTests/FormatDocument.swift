import DumpInspection
import Foundation
import IntermediateDump

/// The parts of `Docs/Internals/IntermediateDumpFormat.md` that tests compare with the code.
struct FormatDocument {
  /// The rows of the table of keys.
  let rows: [String]
  /// The bytes of the worked example.
  let exampleBytes: [UInt8]
  /// The printed form of the example, as the document shows it.
  let exampleTree: String

  private static let place = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("Docs/Internals/IntermediateDumpFormat.md")

  init() throws {
    let text = try String(contentsOf: Self.place, encoding: .utf8)
    rows = text.split(separator: "\n").map(String.init).filter(Self.isRow)
    let blocks =
      text.components(separatedBy: "## Example").last?
      .components(separatedBy: "```") ?? []
    exampleBytes = (blocks.count > 1 ? blocks[1] : "").split(separator: "\n")
      .flatMap(Self.leadingBytes)
    exampleTree = blocks.count > 3 ? String(blocks[3].dropFirst()) : ""
  }

  static func replaceRows(by rows: [String]) throws {
    var lines = try String(contentsOf: place, encoding: .utf8).components(separatedBy: "\n")
    let start = lines.firstIndex(where: isRow) ?? lines.count
    lines.removeAll(where: isRow)
    lines.insert(contentsOf: rows, at: start)
    try lines.joined(separator: "\n").write(to: place, atomically: true, encoding: .utf8)
  }

  private static func isRow(_ line: String) -> Bool {
    line.hasPrefix("| ") && line.dropFirst(2).first?.isNumber == true && line.contains("| `")
  }

  /// The table row of a key, according to the schema.
  static func row(of key: IntermediateDumpKey) -> String {
    let definition = key.definition
    let size = definition.size.map { "\($0)" } ?? "-"
    return "| \(key.rawValue) | `\(key)` | \(definition.kind) | \(size) | \(definition.meaning) |"
  }

  /// The bytes at the start of a line, before two spaces and the explanation.
  private static func leadingBytes(_ line: Substring) -> [UInt8] {
    let trimmed = line.trimmingCharacters(in: .whitespaces)
    let bytes = trimmed.components(separatedBy: "  ").first ?? ""
    return bytes.split(separator: " ").compactMap { UInt8($0, radix: 16) }
  }
}
