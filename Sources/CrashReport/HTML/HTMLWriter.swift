internal import CrashAnalysis
internal import IntermediateDump

/// Builds HTML; escapes all text except constants of this program, and closes every element that has content.
package struct HTMLWriter {
  package private(set) var text = ""
  /// The headings and their anchors, in order.
  private(set) var headings: [(title: String, anchor: String)] = []

  package init() {}

  /// The number of bytes that have been added so far.
  package var size: Int { text.utf8.count }

  /// Adds an element that contains everything that `content` adds.
  package mutating func element(
    _ name: StaticString, _ attributes: KeyValuePairs<StaticString, String> = [:],
    _ content: (inout HTMLWriter) -> Void
  ) {
    open(name, attributes)
    content(&self)
    text += "</\(name)>"
  }

  /// Adds an element that contains a text.
  package mutating func element(
    _ name: StaticString, _ attributes: KeyValuePairs<StaticString, String> = [:],
    text content: String
  ) {
    open(name, attributes)
    add(content)
    text += "</\(name)>"
  }

  /// Adds a heading of the second level that links to itself.
  ///
  /// - Parameters:
  ///   - title: the heading.
  ///   - anchor: the heading's name in links.
  ///   - short: the title in a list of the headings; nil to use `title`.
  mutating func heading(_ title: String, anchor: String, short: String? = nil) {
    headings.append((short ?? title, anchor))
    element("h2", ["id": anchor]) { html in
      html.element("a", ["href": "#\(anchor)"], text: title)
    }
  }

  /// Adds the HTML that another writer has built.
  mutating func add(_ other: HTMLWriter) { text += other.text }

  /// Adds text, which is escaped.
  package mutating func add(_ content: String) { text += Self.escaped(content) }

  /// Adds a line feed between elements, so that people can read the source of the page.
  package mutating func breakLine() { text += "\n" }

  /// Adds constant text of this program, never text from a dump.
  package mutating func addVerbatim(_ content: StaticString) { text += "\(content)" }

  /// Adds the meta elements, including the Content-Security-Policy that forbids scripts and requests.
  package mutating func addPolicy() {
    open("meta", ["charset": "utf-8"])
    open("meta", ["name": "viewport", "content": "width=device-width, initial-scale=1"])
    open(
      "meta",
      [
        "http-equiv": "Content-Security-Policy",
        "content":
          "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'",
      ])
    open("meta", ["name": "referrer", "content": "no-referrer"])
    open("meta", ["name": "color-scheme", "content": "light dark"])
  }

  private mutating func open(
    _ name: StaticString, _ attributes: KeyValuePairs<StaticString, String>
  ) {
    text += "<\(name)"
    for (key, value) in attributes { text += " \(key)=\"\(Self.escaped(value))\"" }
    text += ">"
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "&"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\""),
      UInt8(ascii: "'"):
      false
    default: (0x20..<0x7F).contains(byte)
    }
  }

  /// The maximum number of bytes of a text before it is escaped; the rest is cut off, with a mark.
  private static let maximumLength = 1 << 16

  /// Escapes text for content and for quoted attributes.
  ///
  /// Control characters, except line feeds and tabs, and marks of text direction are escaped by the rules of
  /// `escapedForTerminal`.
  static func escaped(_ text: String) -> String {
    if text.utf8.count <= maximumLength, text.utf8.allSatisfy(isPlain) { return text }
    let isLong = text.utf8.count > maximumLength
    let shown = String(text.cut(toBytes: maximumLength))
    var result = ""
    for scalar in shown.escapedForTerminal(keepingLines: true).unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "'": result += "&#39;"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return isLong ? result + "\u{2026} (cut off)" : result
  }
}

extension HTMLWriter {
  /// Adds a note about the number of rows or parts that the page leaves out.
  mutating func addRest(_ count: Int, _ what: String) {
    guard count > 0 else { return }
    element("p", ["class": "faint"], text: "\(count) more \(what) are only in the JSON.")
  }
}
