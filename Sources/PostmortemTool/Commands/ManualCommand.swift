/// The subcommand `postmortem manual [SUBCOMMAND]`.
enum ManualCommand: Subcommand {
  static let name = "manual"
  static let summary = "print a manual page, for man(1)"
  static let help = """
    Prints a manual page, for man(1), of the text that help prints.

    Usage: postmortem manual [SUBCOMMAND]

    To read one: postmortem manual show | man -l -
    To keep one: postmortem manual show > /usr/local/share/man/man1/postmortem-show.1

    """

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(words, operands: 0...1, help: help)
    guard let name = arguments.operands.first else {
      return Terminal.print(
        page(
          title: "postmortem", "read what crashed processes left behind",
          PostmortemTool.help))
    }
    let command = try PostmortemTool.subcommand(name)
    Terminal.print(page(title: "postmortem-" + command.name, command.summary, command.help))
  }

  /// Source: man-pages(7); groff_man(7).
  private static func page(title: String, _ summary: String, _ help: String) -> String {
    var lines = [
      ".TH \(title.uppercased()) 1 \"\" \"postmortem \(PostmortemTool.version)\" \"User Commands\"",
      ".SH NAME", roff("\(title) - \(summary)"), ".SH SYNOPSIS", ".nf",
    ]
    let paragraphs = help.split(separator: "\n", omittingEmptySubsequences: false)
      .split(whereSeparator: \.isEmpty)
    func isUsage(_ paragraph: ArraySlice<Substring>) -> Bool {
      paragraph.first?.hasPrefix("Usage:") ?? false
    }
    for line in paragraphs.first(where: isUsage) ?? [] { lines.append(roff(line.dropFirst(7))) }
    lines += [".fi", ".SH DESCRIPTION"]
    for paragraph in paragraphs where !isUsage(paragraph) {
      // Columns are made by spaces.
      let isTable = paragraph.contains { $0.hasPrefix("  ") }
      lines.append(".PP")
      if isTable { lines.append(".nf") }
      lines += paragraph.map(roff)
      if isTable { lines.append(".fi") }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// Keeps what troff would take for a request, an escape or a hyphen.
  private static func roff(_ line: some StringProtocol) -> String {
    let text = String(line).replacing("\\", with: "\\e").replacing("-", with: "\\-")
    return text.hasPrefix(".") || text.hasPrefix("'") ? "\\&" + text : text
  }
}
