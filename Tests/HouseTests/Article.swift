import Foundation

/// A page of `Docs/Guide` as a DocC article.
///
/// GitHub shows the page itself; DocC shows a copy in `Postmortem.docc`, which differs only in links.
struct Article {
  static let source = "Docs/Guide"
  static let copies = "Sources/Postmortem/Postmortem.docc"

  /// The page's file name.
  let name: String
  let text: String

  /// The text of the copy.
  ///
  /// A link to a page of the guide becomes a DocC link without its anchor, because DocC spells anchors
  /// differently. Every other file is only in the repository, so its path follows the link's text.
  var copy: String {
    // Every second part is a code block.
    let parts = text.components(separatedBy: "```").enumerated().map { index, part in
      index.isMultiple(of: 2) ? Self.linked(part) : part
    }
    return parts.joined(separator: "```")
      + "\n<!-- A copy of \(Self.source)/\(name), by UPDATE_DOCUMENTS=1 swift test --filter ArticleTests -->\n"
  }

  private static func linked(_ text: String) -> String {
    text.replacing(/\[([^\]]+)\]\(([^)#\s]*)(#[^)]*)?\)/) { match in
      let (words, target) = (String(match.1), String(match.2))
      if target.hasPrefix("https://") || target.hasPrefix("http://") { return String(match.0) }
      if target.isEmpty { return words }
      guard target.contains("/") || !target.hasSuffix(".md") else {
        return "[\(words)](doc:\(target.dropLast(3)))"
      }
      let path = Self.path(of: target)
      return words == path ? "`\(path)`" : "\(words) (`\(path)`)"
    }
  }

  /// Converts the target of a link in the guide to a path from the repository's root.
  private static func path(of target: String) -> String {
    var parts = source.split(separator: "/").map(String.init)
    for part in target.split(separator: "/") {
      if part == ".." { _ = parts.popLast() } else { parts.append(String(part)) }
    }
    return parts.joined(separator: "/")
  }
}
