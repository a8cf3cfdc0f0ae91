import Foundation
import Testing

@Suite struct ArticleTests {
  private static let landing = "Postmortem.md"

  /// `UPDATE_DOCUMENTS=1 swift test --filter ArticleTests` writes the articles.
  @Test func theArticlesOfDocCAreCopiesOfTheGuideAndThereAreNoOthers() throws {
    let manager = FileManager.default
    let pages = try manager.contentsOfDirectory(atPath: House.root + "/" + Article.source)
      .filter { $0.hasSuffix(".md") }
    #expect(pages.count > 15)
    let copies = House.root + "/" + Article.copies
    let isUpdate = ProcessInfo.processInfo.environment["UPDATE_DOCUMENTS"] != nil
    for page in pages {
      let copy = Article(name: page, text: try House.text(Article.source + "/" + page)).copy
      let path = copies + "/" + page
      if isUpdate { try copy.write(toFile: path, atomically: true, encoding: .utf8) }
      let isSame = try String(contentsOfFile: path, encoding: .utf8) == copy
      #expect(isSame, "\(page): UPDATE_DOCUMENTS=1 swift test --filter ArticleTests")
    }
    let articles = try manager.contentsOfDirectory(atPath: copies)
      .filter { $0.hasSuffix(".md") && $0 != Self.landing }
    #expect(articles.sorted() == pages.sorted())
  }

  @Test func theLandingPageListsEachArticle() throws {
    let landing = try House.text(Article.copies + "/" + Self.landing)
    for page in try FileManager.default.contentsOfDirectory(
      atPath: House.root + "/" + Article.source
    ) where page.hasSuffix(".md") {
      let isThere = landing.contains("- <doc:\(page.dropLast(3))>")
      #expect(isThere, "\(page)")
    }
  }

  @Test(arguments: [
    ("[Symbols](Symbols.md)", "[Symbols](doc:Symbols)"),
    ("[kept](Symbols.md#keep-the-symbols)", "[kept](doc:Symbols)"),
    ("[Limits](../Limits.md#x)", "Limits (`Docs/Limits.md`)"),
    ("[Examples/Server](../../Examples/Server)", "`Examples/Server`"),
    ("[Swift](https://swift.org)", "[Swift](https://swift.org)"),
    ("below, in [Names](#names)", "below, in Names"),
    ("```\n[UInt8](bytes)\n```", "```\n[UInt8](bytes)\n```"),
  ])
  func linksBecomeThoseOfDocC(text: String, expected: String) {
    #expect(Article(name: "A.md", text: text).copy.hasPrefix(expected + "\n"))
  }
}
