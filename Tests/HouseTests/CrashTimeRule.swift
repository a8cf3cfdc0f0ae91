/// The rule for code that runs in a crash: every declaration that another file or C can call has `@_noLocks`.
///
/// The compiler checks the bodies of annotated functions, and of the functions that they call in the same file.
/// This rule checks that no annotation is missing.
enum CrashTimeRule {
  struct Violation: Equatable, CustomStringConvertible {
    let line: Int
    let declaration: String
    var description: String { "line \(line): \(declaration) without @_noLocks" }
  }

  private static let modifiers: Set<String> = [
    "public", "package", "internal", "fileprivate", "private", "open", "static", "class", "final",
    "mutating", "nonmutating", "consuming", "borrowing", "override", "required", "convenience",
    "nonisolated", "prefix", "postfix", "infix",
  ]
  private static let accessors: Set<String> = [
    "get", "set", "_read", "_modify", "read", "modify", "willSet", "didSet", "init",
    "unsafeAddress", "unsafeMutableAddress",
  ]
  private static let annotation = "@_noLocks"

  static func violations(in text: String) -> [Violation] {
    let tokens = SwiftTokens(text).tokens
    var found: [Violation] = []
    for (index, token) in tokens.enumerated() {
      let next = index + 1 < tokens.count ? tokens[index + 1].text : ""
      let previous = index > 0 ? tokens[index - 1].text : ""
      switch token.text {
      case "func":
        if !isAnnotated(tokens, index) {
          found.append(Violation(line: token.line, declaration: "func \(next)"))
        }
      case "init" where ["(", "?", "!", "<"].contains(next) && previous != ".":
        if !isAnnotated(tokens, index) {
          found.append(Violation(line: token.line, declaration: "init"))
        }
      case "deinit":
        if !isAnnotated(tokens, index) {
          found.append(Violation(line: token.line, declaration: "deinit"))
        }
      case "var" where previous != "." && next != ":":
        guard !isAnnotated(tokens, index), let brace = bodyOfVariable(tokens, index) else {
          continue
        }
        found += unannotatedAccessors(tokens, brace: brace, of: "var \(next)")
      case "subscript" where previous != ".":
        guard !isAnnotated(tokens, index),
          let brace = tokens[index...].firstIndex(where: { $0.text == "{" })
        else { continue }
        found += unannotatedAccessors(tokens, brace: brace, of: "subscript")
      default: continue
      }
    }
    return found
  }

  /// Searches the attributes and modifiers before a declaration's keyword for the annotation, or for `private`,
  /// which needs none unless C calls the declaration.
  private static func isAnnotated(_ tokens: [SwiftTokens.Token], _ keyword: Int) -> Bool {
    var index = keyword - 1
    var isPrivate = false
    var isCalledByC = false
    while index >= 0 {
      let text = tokens[index].text
      if text == annotation { return true }
      if text == "private" || text == "fileprivate" { isPrivate = true }
      if text == ")" {
        // The arguments of an attribute, such as @c(name), or of a modifier, such as private(set).
        var depth = 0
        while index >= 0 {
          if tokens[index].text == ")" { depth += 1 }
          if tokens[index].text == "(" { depth -= 1 }
          if depth == 0 { break }
          index -= 1
        }
        index -= 1
        guard index >= 0,
          tokens[index].text.hasPrefix("@") || modifiers.contains(tokens[index].text)
        else { break }
        if tokens[index].text == annotation { return true }
        if tokens[index].text == "@c" { isCalledByC = true }
      } else if !text.hasPrefix("@") && !modifiers.contains(text) {
        break
      }
      index -= 1
    }
    return isPrivate && !isCalledByC
  }

  /// The brace that opens a variable's accessors; nil for a stored variable.
  ///
  /// The brace must be on the line on which the type ends.
  private static func bodyOfVariable(_ tokens: [SwiftTokens.Token], _ keyword: Int) -> Int? {
    var index = keyword + 1
    var line = tokens[keyword].line
    var depth = 0
    while index < tokens.count {
      let token = tokens[index]
      if depth == 0, token.line != line { return nil }
      line = token.line
      switch token.text {
      case "(", "[", "<": depth += 1
      case ")", "]": depth -= 1
      case ">" where tokens[index - 1].text != "-": depth -= 1
      case "=" where depth == 0: return nil
      case "{": return index
      case "}", ";": return nil
      default: break
      }
      index += 1
    }
    return nil
  }

  private static func unannotatedAccessors(
    _ tokens: [SwiftTokens.Token], brace: Int, of declaration: String
  ) -> [Violation] {
    var found: [Violation] = []
    var sawAccessor = false
    var depth = 0
    var index = brace
    repeat {
      let text = tokens[index].text
      if text == "{" { depth += 1 }
      if text == "}" { depth -= 1 }
      let next = index + 1 < tokens.count ? tokens[index + 1].text : ""
      if depth == 1, accessors.contains(text), ["{", "("].contains(next) {
        sawAccessor = true
        if !isAnnotated(tokens, index) {
          found.append(
            Violation(line: tokens[index].line, declaration: "\(text) of \(declaration)"))
        }
      }
      index += 1
    } while depth > 0 && index < tokens.count
    if !sawAccessor {
      found.append(Violation(line: tokens[brace].line, declaration: "getter of \(declaration)"))
    }
    return found
  }
}
