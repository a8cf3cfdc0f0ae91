import Foundation

/// `Docs/IntermediateDumpFormat.md`, as far as tests compare the code with it.
struct FormatDocument {
  /// One row of the table of keys.
  struct Key: Equatable {
    let number: UInt16
    let name: String
    let kind: String
  }

  let keys: [Key]
  /// The worked example's bytes.
  let exampleBytes: [UInt8]
  /// How the document says that the example is printed.
  let exampleTree: String

  init(file: String = #filePath) throws {
    let root = URL(fileURLWithPath: file).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let text = try String(
      contentsOf: root.appendingPathComponent("Docs/IntermediateDumpFormat.md"), encoding: .utf8)
    keys = text.split(separator: "\n").compactMap { line in
      let cells = line.split(separator: "|", omittingEmptySubsequences: false)
        .map { $0.trimmingCharacters(in: .whitespaces) }
      guard cells.count >= 6, let number = UInt16(cells[1]), cells[2].hasPrefix("`") else {
        return nil
      }
      return Key(
        number: number, name: cells[2].trimmingCharacters(in: ["`"]), kind: cells[3])
    }
    let blocks =
      text.components(separatedBy: "## Example").last?
      .components(separatedBy: "```") ?? []
    exampleBytes = (blocks.count > 1 ? blocks[1] : "").split(separator: "\n")
      .flatMap(Self.leadingBytes)
    exampleTree = blocks.count > 3 ? String(blocks[3].dropFirst()) : ""
  }

  /// The bytes in front of a line's explanation, which two blanks divide from them.
  private static func leadingBytes(_ line: Substring) -> [UInt8] {
    let trimmed = line.trimmingCharacters(in: .whitespaces)
    let bytes = trimmed.components(separatedBy: "  ").first ?? ""
    return bytes.split(separator: " ").compactMap { UInt8($0, radix: 16) }
  }
}
