import Testing

/// The types that crash code reaches stay small enough to be read at once.
@Suite("Types of crash code") struct CrashTypeTests {
  private static let limit = 20

  @Test("No type of crash code has more than 20 stored properties")
  func sizes() throws {
    var counted = 0
    for file in try House.crashTimeDirectories.flatMap(House.swiftFiles) {
      for type in Self.types(in: file.text) {
        counted += type.properties
        #expect(type.properties <= Self.limit, "\(type.name) in \(file.path)")
      }
    }
    #expect(counted > 200)
  }

  @Test("A large type is seen, and what is computed is not counted")
  func planted() {
    let fields = (0..<21).map { "  var field\($0) = 0\n" }.joined()
    let text = """
      struct Large {
      \(fields)
        static let one = 1
        var computed: Int { @_noLocks get { 1 } }
        func body() { let local = 1 }
        struct Inner { let a, b: Int }
      }
      """
    let types = Self.types(in: text)
    #expect(types.first { $0.name == "Large" }?.properties == 21)
    #expect(types.first { $0.name == "Inner" }?.properties == 1)
  }

  private struct Counted {
    let name: String
    let depth: Int
    var properties = 0
  }

  /// Declarations of stored properties, one for each `let` or `var`, by type.
  private static func types(in text: String) -> [Counted] {
    let tokens = SwiftTokens(text).tokens
    var open: [Counted] = []
    var found: [Counted] = []
    var depth = 0
    var pending: String?
    for (index, token) in tokens.enumerated() {
      let next = index + 1 < tokens.count ? tokens[index + 1].text : ""
      switch token.text {
      case "struct", "enum", "class", "extension":
        if index == 0 || tokens[index - 1].text != "." { pending = next }
      case "{":
        if let name = pending { open.append(Counted(name: name, depth: depth)) }
        pending = nil
        depth += 1
      case "}":
        depth -= 1
        if let last = open.last, last.depth == depth { found.append(open.removeLast()) }
      case "let", "var":
        guard let type = open.last, type.depth == depth - 1 else { continue }
        let line = tokens[index...].prefix { $0.line == token.line }
        let before = tokens[..<index].suffix(6).filter { $0.line == token.line }.map(\.text)
        if before.contains("static") || line.contains(where: { $0.text == "{" }) { continue }
        open[open.count - 1].properties += 1
      default: continue
      }
    }
    return found
  }
}
