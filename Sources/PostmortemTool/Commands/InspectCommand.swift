internal import DumpInspection
internal import IntermediateDump

/// The subcommand `postmortem inspect FILE`.
enum InspectCommand: Subcommand {
  static let name = "inspect"
  static let summary = "print an intermediate dump as a tree, even a truncated one"
  static let usage = ["[--json] FILE"]
  static let discussion = """
    Prints an intermediate dump as an indented tree with key names, offsets and sizes.

    For a truncated dump, prints everything before the damage, then where and why the dump ends. \
    Docs/Internals/IntermediateDumpFormat.md describes the format.
    """
  static let options: [CommandOption] = [
    .json(
      "print a JSON object with version, architecture, size, writer, complete, damage and entries. Each entry has "
        + "offset, key (null if unknown) and number, and either size and value (a string) or entries"
    )
  ]
  static let operands = Operands(1...1, "FILE", completing: .file)

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(words, of: self)
    let path = arguments.operands[0]
    let bytes = try InputFile.bytes(of: path)
    guard !bytes.starts(with: Array("MDMP".utf8)) else {
      throw ToolError(
        path: path, "this is a minidump: postmortem show \(path.quotedForShell) prints its report")
    }
    let document: IntermediateDumpDocument
    do throws(IntermediateDumpError) {
      document = try IntermediateDumpDocument(parsing: bytes)
    } catch {
      throw ToolError(path: path, error)
    }
    guard !arguments.has("--json") else {
      return try StandardOutput.print(JSON.text(of: IntermediateDumpTree(document)))
    }
    var output = StandardOutputStream()
    IntermediateDumpTree(document).write(to: &output)
    try output.flush()
  }
}
