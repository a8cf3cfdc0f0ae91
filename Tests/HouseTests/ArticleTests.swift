import CrashTestSupport
import Foundation
import Testing

/// The script that writes the pages of the guide as DocC articles.
@Suite struct ArticleTests {
  private let directory: SharedDirectory
  private var catalogue: String { directory.path + "/Postmortem.docc" }

  init() throws {
    directory = try SharedDirectory()
    try write("# ``Postmortem``\n", to: "Postmortem.docc/Postmortem.md")
  }

  private func write(_ text: String, to path: String) throws {
    let url = URL(fileURLWithPath: directory.path + "/" + path)
    try FileManager.default.createDirectory(
      at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try text.write(to: url, atomically: true, encoding: .utf8)
  }

  /// Runs the script of the tree at `root`, and returns the articles by their names.
  private func articles(of root: String) async throws -> [String: String] {
    let child = try await ChildProcess.run(
      "/usr/bin/env", ["bash", root + "/.ci/articles", catalogue], in: directory.path)
    try #require(child.end.exitCode == 0, "\(child.standardError)")
    var articles: [String: String] = [:]
    for name in directory.names("Postmortem.docc") where name != "Postmortem.md" {
      articles[name] = try String(contentsOfFile: catalogue + "/" + name, encoding: .utf8)
    }
    return articles
  }

  @Test func eachPageOfTheGuideIsAnArticle() async throws {
    let pages = try FileManager.default.contentsOfDirectory(atPath: House.root + "/Docs/Guide")
    #expect(pages.count > 10)
    let articles = try await articles(of: House.root)
    #expect(articles.keys.sorted() == pages.sorted())
    for (name, text) in articles {
      for match in text.matches(of: /\[[^\]]+\]\(doc:([^)]+)\)/) {
        #expect(pages.contains(match.1 + ".md"), "\(name) links to \(match.1)")
      }
    }
  }

  @Test func onlyTheLinksDiffer() async throws {
    let page = """
      # Names

      [Symbols](Symbols.md), [kept](Symbols.md#keep-the-symbols), [Limits](../Limits.md#x),
      [Examples/Server](../../Examples/Server), [Swift](https://swift.org), below in [Names](#names).

      ```
      [UInt8](bytes.md)
      ```
      [Symbols](Symbols.md)

      """
    try write(House.text(".ci/articles"), to: ".ci/articles")
    try write(page, to: "Docs/Guide/A.md")
    try write("of a page that no longer exists", to: "Postmortem.docc/Old.md")
    let article = """
      # Names

      [Symbols](doc:Symbols), [kept](doc:Symbols), Limits (`Docs/Limits.md`),
      `Examples/Server`, [Swift](https://swift.org), below in Names.

      ```
      [UInt8](bytes.md)
      ```
      [Symbols](doc:Symbols)

      """
    #expect(try await articles(of: directory.path) == ["A.md": article])
    #expect(directory.bytes("Postmortem.docc/Postmortem.md")?.isEmpty == false)
  }
}
