import CrashTestSupport
import Foundation

/// A page as parsed by Python's HTML parser.
struct HTMLPage: Decodable {
  /// "tag.class" for each start tag and "/tag" for each end tag, in order.
  var tags: [String]
  /// Tags that are unbalanced, unknown, or would load something.
  var errors: [String]
  /// The texts between tags, in order.
  var texts: [String]
  /// The targets of links within the page.
  var anchors: Set<String>

  static func parse(_ page: String) async throws -> HTMLPage {
    let directory = try TemporaryDirectory()
    try page.write(toFile: directory.path + "/page.html", atomically: false, encoding: .utf8)
    guard let python = OutsideTool.python3.path else { throw OutsideToolError("no python3") }
    let child = try await ChildProcess.run(
      python, ["-c", script, directory.path + "/page.html"], in: directory.path, patience: 120)
    guard child.end.exitCode == 0 else { throw OutsideToolError(child.standardError) }
    return try JSONDecoder().decode(HTMLPage.self, from: Data(child.standardOutput.utf8))
  }

  private static let script = #"""
    import html.parser, json, re, sys
    VOID = {"meta"}
    KNOWN = VOID | {"html", "head", "title", "style", "body", "header", "main", "footer", "section", "h1", "h2", "p", "dl",
        "dt", "dd", "div", "span", "ol", "ul", "li", "b", "i", "code", "pre", "details", "summary", "nav", "a"}
    ATTRIBUTES = {"lang", "charset", "name", "content", "http-equiv", "class", "open", "id", "href"}
    class Page(html.parser.HTMLParser):
        def __init__(self):
            super().__init__(convert_charrefs=True)
            self.open, self.tags, self.errors, self.texts = [], [], [], []
            self.anchors, self.links = [], []
        def handle_starttag(self, tag, attributes):
            values = dict(attributes)
            if tag not in KNOWN: self.errors.append("tag " + tag)
            for name in values:
                if name not in ATTRIBUTES: self.errors.append("attribute %s of %s" % (name, tag))
            if "id" in values: self.anchors.append(values["id"])
            if "href" in values: self.links.append(values["href"])
            self.tags.append(tag + "." + values.get("class", "") if "class" in values else tag)
            if tag not in VOID: self.open.append(tag)
        def handle_startendtag(self, tag, attributes): self.errors.append("empty " + tag)
        def handle_endtag(self, tag):
            if not self.open or self.open.pop() != tag: self.errors.append("end of " + tag)
            self.tags.append("/" + tag)
        def handle_data(self, data):
            if self.open and self.open[-1] == "style" and re.search(r"url\(|@import|https?:|<", data):
                self.errors.append("the style sheet loads something")
            if data.strip(): self.texts.append(data)
        def handle_comment(self, data): self.errors.append("comment")
        def handle_pi(self, data): self.errors.append("instruction")
    page = Page()
    page.feed(open(sys.argv[1], encoding="utf-8").read())
    page.close()
    if page.open: page.errors.append("open: " + " ".join(page.open))
    if len(set(page.anchors)) < len(page.anchors): page.errors.append("an ID is there twice")
    for link in page.links:
        if link[:1] != "#" or link[1:] not in page.anchors: page.errors.append("link to " + link)
    print(json.dumps({"tags": page.tags, "errors": page.errors[:20], "texts": page.texts, "anchors": page.anchors}))
    """#
}
