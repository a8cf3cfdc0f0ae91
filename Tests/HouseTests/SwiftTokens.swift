/// The tokens of a Swift file without comments and contents of strings, sufficient to find declarations.
struct SwiftTokens {
  struct Token: Equatable {
    /// An identifier, a number, `@` with its name, `#` with its name, `""` for any string, or one punctuation
    /// character.
    let text: String
    /// The line number, from 1.
    let line: Int
  }

  private(set) var tokens: [Token] = []
  private let characters: [Character]
  private var position = 0
  private var line = 1

  init(_ text: String) {
    characters = Array(text)
    while position < characters.count { readToken() }
  }

  private func character(_ offset: Int = 0) -> Character? {
    position + offset < characters.count ? characters[position + offset] : nil
  }

  private mutating func advance(_ count: Int = 1) {
    for _ in 0..<count where position < characters.count {
      if characters[position].isNewline { line += 1 }
      position += 1
    }
  }

  private mutating func readToken() {
    guard let first = character() else { return }
    if first.isWhitespace {
      advance()
    } else if first == "/", character(1) == "/" {
      while let next = character(), !next.isNewline { advance() }
    } else if first == "/", character(1) == "*" {
      skipBlockComment()
    } else if first == "\"" || (first == "#" && stringFollowsPounds()) {
      tokens.append(Token(text: "\"\"", line: line))
      skipString()
    } else if first == "@" || first == "#" || Self.isWord(first) {
      let start = line
      var text = String(first)
      advance()
      while let next = character(), Self.isWord(next) {
        text.append(next)
        advance()
      }
      tokens.append(Token(text: text, line: start))
    } else {
      tokens.append(Token(text: String(first), line: line))
      advance()
    }
  }

  private static func isWord(_ character: Character) -> Bool {
    character.isLetter || character.isNumber || character == "_" || character == "$"
      || character == "`"
  }

  private mutating func skipBlockComment() {
    var depth = 0
    repeat {
      if character() == "/", character(1) == "*" {
        depth += 1
        advance(2)
      } else if character() == "*", character(1) == "/" {
        depth -= 1
        advance(2)
      } else {
        advance()
      }
    } while depth > 0 && position < characters.count
  }

  private func stringFollowsPounds() -> Bool {
    var offset = 0
    while character(offset) == "#" { offset += 1 }
    return character(offset) == "\""
  }

  private func matches(_ text: String) -> Bool {
    text.enumerated().allSatisfy { character($0.offset) == $0.element }
  }

  private mutating func skipString() {
    var pounds = 0
    while character() == "#" {
      pounds += 1
      advance()
    }
    let quotes = matches("\"\"\"") ? "\"\"\"" : "\""
    let fence = String(repeating: "#", count: pounds)
    advance(quotes.count)
    while position < characters.count {
      if matches("\\" + fence + "(") {
        advance(2 + pounds)
        skipInterpolation()
      } else if pounds == 0, character() == "\\" {
        advance(2)
      } else if matches(quotes + fence) {
        advance(quotes.count + pounds)
        return
      } else {
        advance()
      }
    }
  }

  private mutating func skipInterpolation() {
    var depth = 1
    while depth > 0, let next = character() {
      switch next {
      case "(":
        depth += 1
        advance()
      case ")":
        depth -= 1
        advance()
      case "\"": skipString()
      default: advance()
      }
    }
  }
}
