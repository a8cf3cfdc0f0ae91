import Testing

/// Comments begin with the thing or with a verb.
@Suite("Comments")
struct CommentTests {
  /// The lines of comments on which a sentence begins as a noun clause.
  private static func violations(in text: String) -> [String] {
    text.split(separator: "\n").map(String.init).filter { line in
      guard let comment = line.firstMatch(of: #/^\s*///? (.*)/#)?.1 else { return false }
      return comment.contains(#/(^|[.:] |- \w+: )(What|Who|Whom|Whose|How|Why|Where) /#)
    }
  }

  @Test("No sentence begins with What, Who, Whose, How, Why or Where")
  func sources() throws {
    for file in try House.swiftFiles(in: "Sources") {
      #expect(Self.violations(in: file.text) == [], "\(file.path)")
    }
  }

  @Test(
    "The checker finds what is planted",
    arguments: [
      "/// What the handler was given.", "  // Where it lies.", "/// The stack. How it is read.",
      "  /// - Returns: Whose it is.",
    ])
  func planted(line: String) { #expect(Self.violations(in: line) == [line]) }

  @Test(
    "The checker passes what is right",
    arguments: [
      "/// Tells what the handler was given.", "/// Nil where there is none.",
      "let text = \"What it was\"", "/// The `Where` clause.",
    ])
  func right(line: String) { #expect(Self.violations(in: line) == []) }
}
