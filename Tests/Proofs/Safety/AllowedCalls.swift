import Foundation

/// The list in `AllowedCalls.txt`.
struct AllowedCalls {
  enum Rule: String {
    case stop
    case never
    case follow
    case indirect
  }

  struct Entry {
    let rule: Rule
    let symbol: String
    let reason: String

    func matches(_ name: String) -> Bool {
      symbol.hasSuffix("*") ? name.hasPrefix(symbol.dropLast()) : name == symbol
    }
  }

  struct Malformed: Error {
    let line: String
  }

  let entries: [Entry]

  init(parsing text: String) throws {
    entries = try text.split(separator: "\n").compactMap { line in
      if line.hasPrefix("#") || line.allSatisfy(\.isWhitespace) { return nil }
      let words = line.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: true)
      guard words.count == 3, let rule = Rule(rawValue: String(words[0])) else {
        throw Malformed(line: String(line))
      }
      return Entry(
        rule: rule, symbol: String(words[1]),
        reason: words[2].trimmingCharacters(in: .whitespaces))
    }
  }

  /// Reads the list in this directory.
  static func kept(file: String = #filePath) throws -> AllowedCalls {
    let path = URL(filePath: file).deletingLastPathComponent().appending(path: "AllowedCalls.txt")
    return try AllowedCalls(parsing: String(contentsOf: path, encoding: .utf8))
  }

  /// The same list with the functions that the compiler calls on arm64 in place of atomic instructions that early
  /// processors lack.
  static func keptForARM64() throws -> AllowedCalls {
    let kept = try kept().entries
    let helpers = try AllowedCalls(
      parsing: "stop __aarch64_* atomics: one instruction or a loop of two; no lock, nothing bound")
    return AllowedCalls(entries: kept + helpers.entries)
  }

  private init(entries: [Entry]) {
    self.entries = entries
  }
}
