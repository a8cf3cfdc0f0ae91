import Foundation

/// The public declarations that the products export, one sorted line for each.
///
/// It scans the sources, so moving a declaration to another file of its module changes nothing.
enum PublicInterface {
  static let path = "Tests/HouseTests/PublicInterface.txt"
  /// The modules that users import; they re-export all others.
  static let products = ["Postmortem", "PostmortemHandler", "PostmortemUpload"]

  /// The declarations that are compiled on Linux.
  static func lines() throws -> [String] {
    lines(of: try House.swiftFiles(in: "Sources").filter { !$0.isStub })
  }

  static func lines(of sources: [House.File]) -> [String] {
    let files = sources.map { (module: $0.module, tokens: SwiftTokens($0.text).tokens) }
    var lines: [String] = []
    var exported: [String: Set<String>] = [:]
    for file in files where products.contains(file.module) {
      for names in exports(in: file.tokens) {
        lines.append("\(file.module) exports \(names.joined(separator: "."))")
        exported[names[0], default: []].formUnion(names.dropFirst())
      }
    }
    let types = Set(exported.values.joined())
    for file in files {
      var scan = DeclarationScan(file.tokens) { name, isExtension in
        if isExtension { return types.contains(name) }
        return products.contains(file.module) || exported[file.module]?.contains(name) == true
      }
      scan.readFile()
      lines += scan.lines.map { "\(file.module) \($0)" }
    }
    return Set(lines).sorted()
  }

  /// The module of each exported import, and the name if it imports one declaration.
  private static func exports(in tokens: [SwiftTokens.Token]) -> [[String]] {
    tokens.indices.filter { tokens[$0].text == "@_exported" }.map { index in
      let words = tokens[index...].prefix { $0.line == tokens[index].line }.map(\.text)
      return words.drop { $0 != "import" }.dropFirst()
        .filter { $0 != "." && !DeclarationScan.kinds.contains($0) }
    }
  }
}

/// Reads the declarations of one file.
struct DeclarationScan {
  static let containers: Set<String> = [
    "actor", "class", "enum", "extension", "protocol", "struct",
  ]
  static let kinds = containers.union([
    "associatedtype", "case", "deinit", "func", "import", "init", "let", "subscript", "typealias",
    "var",
  ])
  private static let modifiers: Set<String> = [
    "convenience", "fileprivate", "final", "indirect", "internal", "lazy", "mutating",
    "nonisolated", "nonmutating", "open", "override", "package", "private", "public", "required",
    "static", "unowned", "weak",
  ]

  private(set) var lines: [String] = []
  private let tokens: [SwiftTokens.Token]
  private let isExported: (_ name: String, _ isExtension: Bool) -> Bool
  private var position = 0

  init(
    _ tokens: [SwiftTokens.Token],
    isExported: @escaping (_ name: String, _ isExtension: Bool) -> Bool
  ) {
    self.tokens = tokens
    self.isExported = isExported
  }

  /// The enclosing declaration.
  private struct Context {
    var path: [String] = []
    var kind = ""
    var isShown = true
  }

  mutating func readFile() { readMembers(of: Context()) }

  private mutating func readMembers(of context: Context) {
    while position < tokens.count, tokens[position].text != "}" { readDeclaration(in: context) }
    position += 1
  }

  private mutating func readDeclaration(in context: Context) {
    if tokens[position].text.hasPrefix("#") {
      let line = tokens[position].line
      while position < tokens.count, tokens[position].line == line { position += 1 }
      return
    }
    let start = position
    var depth = 0
    var kind: String?
    while position < tokens.count {
      let text = tokens[position].text
      if depth == 0, position > start, text == "{" || text == "}" || startsAnother(kind) { break }
      if depth == 0, kind == nil, Self.kinds.contains(text) { kind = text }
      depth += Self.change(of: text)
      position += 1
    }
    let head = tokens[start..<position].map(\.text)
    guard let kind else {
      // If no declaration was recognized, skip one token, so that the scan always advances.
      if position == start { position += 1 }
      return
    }
    let name = head.drop { $0 != kind }.dropFirst().first ?? kind
    let isTopLevel = context.path.isEmpty
    let modifiers = head.prefix { $0 != kind }
    let isPublic =
      modifiers.contains("public") || modifiers.contains("open")
      || context.kind == "protocol" || (context.kind == "enum" && kind == "case")
    let isWanted = !isTopLevel || isExported(name, kind == "extension")
    let isShown = context.isShown && isWanted && (isPublic || kind == "extension")
    if isShown, kind != "import", kind != "extension" || head.contains(":") {
      let owner = isTopLevel ? "" : context.path.joined(separator: ".") + " "
      lines.append(owner + Self.text(of: head, kind))
    }
    guard position < tokens.count, tokens[position].text == "{" else { return }
    position += 1
    guard Self.containers.contains(kind) else { return skipBody() }
    let path = kind == "extension" ? Self.extendedPath(head) : [name]
    readMembers(
      of: Context(
        path: context.path + path, kind: kind, isShown: isShown))
  }

  /// True if a token on a new line starts the next declaration.
  private func startsAnother(_ kind: String?) -> Bool {
    let (token, before) = (tokens[position], tokens[position - 1])
    guard kind != nil, token.line > before.line, !["=", ":", ",", ">"].contains(before.text)
    else { return false }
    return Self.kinds.contains(token.text) || Self.modifiers.contains(token.text)
      || token.text.hasPrefix("@") || token.text.hasPrefix("#")
  }

  private mutating func skipBody() {
    var depth = 1
    while position < tokens.count, depth > 0 {
      if tokens[position].text == "{" { depth += 1 }
      if tokens[position].text == "}" { depth -= 1 }
      position += 1
    }
  }

  private static func change(of text: String) -> Int {
    switch text {
    case "(", "[": 1
    case ")", "]": -1
    default: 0
    }
  }

  private static func extendedPath(_ head: [String]) -> [String] {
    head.drop { $0 != "extension" }.dropFirst().prefix { $0 != ":" && $0 != "where" }
      .filter { $0 != "." }
  }

  /// The declaration without its body, and without a default value that only repeats its type.
  private static func text(of head: [String], _ kind: String) -> String {
    var head = head
    let isCase = kind == "case"
    if kind == "let" || kind == "var", let colon = head.firstIndex(of: ":"),
      let sign = head.firstIndex(of: "="), colon < sign
    {
      head = Array(head[..<sign])
    }
    var text = ""
    var before = ""
    for (index, word) in head.enumerated() {
      let next = index + 1 < head.count ? head[index + 1] : ""
      let isArrow = word == "-" && next == ">"
      let endsArrow = before == ">" && index > 1 && head[index - 2] == "-"
      let isWord = word.first.map { $0.isLetter || "_@\"`".contains($0) || $0.isNumber } == true
      let follows =
        before.last.map { $0.isLetter || "_)]?>\"`".contains($0) || $0.isNumber } == true
      if (isWord && follows) || isArrow || endsArrow || ["=", "&"].contains(word)
        || ([",", ":", "=", "&"].contains(before) && word != "]")
      {
        text += " "
      }
      text += word
      before = word
    }
    return isCase ? "public " + text : text
  }
}
