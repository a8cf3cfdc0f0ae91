/// Sorts what Swift says of a failed check.
///
/// Source: swift stdlib/public/core and stdlib/public/runtime, the texts of fatal errors; compilers
/// name a trap by the same words (lib/IRGen, `Swift runtime failure: ...`).
enum SwiftFailure {
  /// How texts begin, once what stands in front of them is taken away.
  private static let kinds: [(words: String, kind: String)] = [
    ("index out of range", "swift-index-out-of-range"),
    ("array index is out of range", "swift-index-out-of-range"),
    ("negative array index", "swift-index-out-of-range"),
    ("index out of bounds", "swift-index-out-of-range"),
    ("string index is out of bounds", "swift-index-out-of-range"),
    ("unexpectedly found nil", "swift-unwrapped-nil"),
    ("could not cast value", "swift-failed-cast"),
    ("type cast failed", "swift-failed-cast"),
    ("error raised at top level", "swift-uncaught-error"),
    ("'try!' expression unexpectedly raised", "swift-uncaught-error"),
    ("unexpected error", "swift-uncaught-error"),
    ("attempted to read an unowned reference", "swift-unowned-after-free"),
    ("fatal access conflict", "swift-exclusivity"),
    ("simultaneous accesses", "swift-exclusivity"),
    ("swift task continuation misuse", "swift-continuation"),
    ("incorrect actor executor", "swift-actor-isolation"),
    ("division by zero", "division-by-zero"),
    ("arithmetic overflow", "swift-integer-overflow"),
    ("not enough bits to represent", "swift-integer-overflow"),
    ("negative value is not representable", "swift-integer-overflow"),
    ("precondition fail", "swift-precondition"),
    ("assertion fail", "swift-assertion"),
    ("failed to allocate", "out-of-memory"),
  ]

  /// A word for a message; "swift-fatal-error" for a text of the program's own.
  ///
  /// In front of the text stand file and line, and "Fatal error: ". What a program says itself may
  /// hold any words, so that only the beginning counts.
  static func kind(of message: String) -> String {
    var text = Substring(message)
    // "File.swift:12: " has no blank but the last.
    if let end = text.firstIndex(of: " "), text[..<end].hasSuffix(":"),
      text[..<end].contains(".swift:")
    {
      text = text[text.index(after: end)...]
    }
    let prefix = "Fatal error: "
    if text.hasPrefix(prefix) { text = text.dropFirst(prefix.count) }
    let words = text.prefix(64).lowercased()
    return kinds.first { words.hasPrefix($0.words) }?.kind ?? "swift-fatal-error"
  }
}
