/// The subcommand `postmortem manual [SUBCOMMAND]`.
enum ManualCommand: Subcommand {
  static let name = "manual"
  static let summary = "print a manual page, for man(1)"
  static let usage = ["[SUBCOMMAND]"]
  static let discussion = """
    Prints the help as a manual page, for man(1).

      read one: postmortem manual show | man -l -
      save one: postmortem manual show > /usr/local/share/man/man1/postmortem-show.1
    """
  static let options: [CommandOption] = []
  static let operands = Operands(0...1, "SUBCOMMAND", completing: .subcommand)

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(words, of: self)
    guard let name = arguments.operands.first else { return try StandardOutput.print(overview) }
    try StandardOutput.print(page(of: try PostmortemTool.subcommand(name)))
  }

  /// Source: man-pages(7); groff_man(7).
  private static func page(of command: any Subcommand.Type) -> String {
    var lines = head("postmortem-\(command.name)", command.summary)
    lines += command.usage.map { roff("postmortem \(command.name) \($0)") }
    lines += [".fi", ".SH DESCRIPTION"] + paragraphs(command.discussion)
    if !command.options.isEmpty { lines.append(".SH OPTIONS") }
    for option in command.options + CommandOption.shared {
      lines += [".TP", ".B " + roff(option.term), roff(option.text)]
    }
    if !command.closing.isEmpty { lines += [".SH NOTES"] + paragraphs(command.closing) }
    lines += [".SH SEE ALSO", "\\fBpostmortem\\fR(1)"]
    return lines.joined(separator: "\n") + "\n"
  }

  private static var overview: String {
    let parts = PostmortemTool.help.split(separator: "\n\n").map(String.init)
    var lines = head("postmortem", "create, show and upload the reports of crashed processes")
    lines += [roff(parts[1].dropFirst("Usage: ".count)), ".fi", ".SH DESCRIPTION"]
    for part in [parts[0]] + parts.dropFirst(2) {
      let isTable = part.contains("\n  ") || part.hasPrefix("  ")
      lines += [".PP"] + (isTable ? [".nf"] : [])
      lines += part.split(separator: "\n").map { roff($0) }
      if isTable { lines.append(".fi") }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private static func head(_ title: String, _ summary: String) -> [String] {
    [
      ".TH \(title.uppercased()) 1 \"\" \"postmortem \(PostmortemTool.version)\" \"User Commands\"",
      ".SH NAME", roff("\(title) - \(summary)"), ".SH SYNOPSIS", ".nf",
    ]
  }

  private static func paragraphs(_ text: String) -> [String] {
    text.split(separator: "\n\n").flatMap { paragraph -> [String] in
      guard paragraph.hasPrefix(" ") else { return [".PP", roff(paragraph)] }
      return [".PP", ".nf"] + paragraph.split(separator: "\n").map { roff($0) } + [".fi"]
    }
  }

  /// Escapes text that troff would treat as a request, an escape or a hyphen.
  private static func roff(_ line: some StringProtocol) -> String {
    let text = String(line).replacing("\\", with: "\\e").replacing("-", with: "\\-")
    return text.hasPrefix(".") || text.hasPrefix("'") ? "\\&" + text : text
  }
}
