internal import CrashAnalysis
internal import CrashReport

/// Formats help for a terminal of 80 columns.
enum HelpText {
  static let width = 80
  /// The column at which the descriptions of options begin.
  private static let indent = 22

  /// Breaks each paragraph into lines of at most 80 columns; a paragraph that begins with a space keeps its lines.
  ///
  /// - Parameter text: paragraphs separated by empty lines.
  static func paragraphs(_ text: String) -> String {
    text.split(separator: "\n\n").map { paragraph in
      if paragraph.hasPrefix(" ") { return paragraph + "\n" }
      let words = paragraph.split(whereSeparator: \.isWhitespace).joined(separator: " ")
      return TextReport.wrapped(words, width: width).joined(separator: "\n") + "\n"
    }.joined(separator: "\n")
  }

  /// Separates the first paragraph from the rest of a text.
  static func firstParagraph(of text: String) -> (head: String, rest: String) {
    let parts = text.split(separator: "\n\n", maxSplits: 1)
    return (String(parts.first ?? ""), parts.count > 1 ? String(parts[1]) : "")
  }

  /// Formats the usage lines; long lines are broken between their parts.
  static func usage(_ lines: [String]) -> String {
    var text = ""
    for (number, line) in lines.enumerated() {
      let head = number == 0 ? "Usage: " : "       "
      let pieces = TextReport.wrapped(line, width: width - head.count - 4)
      text += head + pieces[0] + "\n"
      for piece in pieces.dropFirst() { text += "           " + piece + "\n" }
    }
    return text
  }

  /// Formats options in two columns: the options, and the texts that explain them.
  static func table(_ options: [CommandOption]) -> String {
    options.map { option in
      let term = "  " + option.term
      let lines = TextReport.wrapped(option.text, width: width - indent)
      let margin = String(repeating: " ", count: indent)
      let isShort = term.count <= indent - 2
      let head = isShort ? term.padded(to: indent) + lines[0] : term + "\n" + margin + lines[0]
      return ([head] + lines.dropFirst().map { margin + $0 }).joined(separator: "\n") + "\n"
    }.joined()
  }
}
