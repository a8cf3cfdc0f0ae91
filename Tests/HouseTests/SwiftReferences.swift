/// Which file uses a declaration of which other file, by names.
///
/// The search covers types, functions, C symbols and members of extensions. A name that is declared in two files
/// is left out, so some uses may be missing.
struct SwiftReferences {
  struct Use: Hashable {
    let file: String
    let name: String
    /// The file with the declaration.
    let other: String
  }

  private(set) var uses: Set<Use> = []
  private let files: [String]

  /// - Parameter sources: the texts of the files, by path.
  init(_ sources: [String: String]) {
    files = sources.keys.sorted()
    var words: [String: Set<String>] = [:]
    // For each name, the files that declare it at all, and those that declare it for other files.
    var declared: [String: Set<String>] = [:]
    var visible: [String: Set<String>] = [:]
    for (path, text) in sources {
      let tokens = SwiftTokens(text).tokens.map(\.text)
      words[path] = Set(tokens)
      for name in Self.declaredNames(in: tokens) { declared[name, default: []].insert(path) }
      for name in Self.visibleNames(in: tokens) { visible[name, default: []].insert(path) }
    }
    for (name, paths) in visible {
      guard paths.count == 1, let other = paths.first,
        declared[name]?.subtracting(paths).isEmpty != false
      else { continue }
      for (path, used) in words where path != other && used.contains(name) {
        uses.insert(Use(file: path, name: name, other: other))
      }
    }
  }

  private static let types: Set<String> = ["struct", "enum", "class", "protocol", "actor"]

  private static func declaredNames(in tokens: [String]) -> [String] {
    zip(tokens, tokens.dropFirst()).compactMap { token, next in
      if types.contains(token) || ["func", "var", "let", "case"].contains(token) { return next }
      // A parameter, or its argument label.
      return next == ":" ? token : nil
    }
  }

  /// The names that other files can use: top-level declarations, nested types, and members of extensions.
  private static func visibleNames(in tokens: [String]) -> [String] {
    var names: [String] = []
    var depth = 0
    var isExtension = false
    for (index, token) in tokens.enumerated() where index + 1 < tokens.count {
      switch token {
      case "{": depth += 1
      case "}": depth -= 1
      case "extension" where depth == 0: isExtension = true
      case "@c" where depth == 0 && tokens[index + 1] == "(": names.append(tokens[index + 2])
      case _ where types.contains(token) && depth <= 1:
        if depth == 0 { isExtension = false }
        if !isPrivate(tokens, index) { names.append(tokens[index + 1]) }
      case "func" where depth == 0, "func" where depth == 1 && isExtension,
        "var" where depth == 1 && isExtension:
        if !isPrivate(tokens, index) { names.append(tokens[index + 1]) }
      default: break
      }
    }
    return names
  }

  private static func isPrivate(_ tokens: [String], _ keyword: Int) -> Bool {
    var index = keyword - 1
    while index >= 0, tokens[index] != "}", tokens[index] != "{", tokens[index] != ")" {
      if tokens[index] == "private" || tokens[index] == "fileprivate" { return true }
      if ["func", "var", "let"].contains(tokens[index]) { return false }
      index -= 1
    }
    return false
  }

  // MARK: - Cycles

  /// Groups of two or more files that reach each other.
  ///
  /// Source: R. Tarjan, Depth-first search and linear graph algorithms.
  var cycles: [[String]] {
    var below: [String: Set<String>] = [:]
    for use in uses { below[use.file, default: []].insert(use.other) }
    var (number, low): ([String: Int], [String: Int]) = ([:], [:])
    var stack: [String] = []
    var found: [[String]] = []
    func visit(_ file: String) -> Int {
      let own = number.count
      (number[file], low[file]) = (own, own)
      stack.append(file)
      var lowest = own
      for other in below[file] ?? [] {
        if number[other] == nil {
          lowest = min(lowest, visit(other))
        } else if stack.contains(other) {
          lowest = min(lowest, number[other] ?? own)
        }
      }
      low[file] = lowest
      if lowest == own, let start = stack.firstIndex(of: file) {
        if stack.count - start > 1 { found.append(stack[start...].sorted()) }
        stack.removeSubrange(start...)
      }
      return lowest
    }
    for file in files where number[file] == nil { _ = visit(file) }
    return found
  }
}
