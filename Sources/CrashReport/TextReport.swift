/// A report as text for a terminal: the cause first, then the crashing thread, then everything
/// else.
///
/// Text from the dump is escaped, so that a thread's name cannot steer the terminal.
public struct TextReport: Sendable {
  let report: CrashReport
  let width: Int
  private let usesColor: Bool
  var lines: [String] = []

  /// The whole report.
  ///
  /// - Parameters:
  ///   - report: what to print.
  ///   - width: columns of the terminal; at least 40 are used. Names are not cut, prose is wrapped.
  ///   - color: whether to use SGR escape sequences.
  /// - Returns: lines that each end in a line feed.
  public static func text(of report: CrashReport, width: Int = 80, color: Bool = false) -> String {
    var text = TextReport(report: report, width: max(width, 40), usesColor: color)
    text.addHead()
    text.addThreads()
    for section in report.sections { text.addSection(section) }
    text.addModules()
    text.addCapture()
    return text.lines.map { $0 + "\n" }.joined()
  }

  private init(report: CrashReport, width: Int, usesColor: Bool) {
    self.report = report
    self.width = width
    self.usesColor = usesColor
  }

  private mutating func addHead() {
    let head = report.head
    let safe = head.sentence.escapedForTerminal(keepingLines: true)
    for line in safe.split(separator: "\n", omittingEmptySubsequences: false) {
      lines += Self.wrapped(String(line), width: width).map { styled($0, .strong) }
    }
    for paragraph in head.paragraphs {
      lines += Self.wrapped(paragraph.escapedForTerminal(), width: width)
    }
    lines.append("")
    for field in head.signs + head.facts {
      let label = field.name + String(repeating: " ", count: max(1, 11 - field.name.count))
      lines.append(styled(label, .faint) + field.value.escapedForTerminal())
    }
  }

  private mutating func addSection(_ section: ReportSection) {
    lines.append("")
    lines.append(section.title + ":")
    let column = section.rows.map(\.nameWidth).max() ?? 0
    for row in section.rows {
      switch row {
      case .field(let field):
        let label = field.name.escapedForTerminal()
        let blanks = String(repeating: " ", count: max(1, column + 1 - label.count))
        lines.append("  " + label + blanks + field.value.escapedForTerminal())
      case .assignment(let name, let value):
        lines.append("  \(name.escapedForTerminal()) = \(value.escapedForTerminal())")
      case .text(let text): lines.append("  " + text.escapedForTerminal())
      }
    }
  }

  private mutating func addModules() {
    guard !report.modules.isEmpty else { return }
    let used = report.modulesOnStacks
    lines.append("")
    lines.append("Modules on the stacks (of \(report.modules.count)):")
    for module in report.modules {
      guard let name = module.name, used.contains(name) else { continue }
      let buildID = module.buildID.map { " \($0)" } ?? " no build ID"
      let deleted = module.deleted ? " (deleted)" : ""
      lines.append(
        "  \(module.base.padded)\(buildID) \(module.path.escapedForTerminal())\(deleted)")
      if let note = module.symbolNote { lines.append("    \(note.escapedForTerminal())") }
    }
  }

  private mutating func addCapture() {
    guard let text = report.captureText else { return }
    lines.append("")
    lines += Self.wrapped(text, width: width)
  }

  enum Style: String {
    case plain = ""
    case strong = "1"
    case faint = "2"
  }

  func styled(_ text: String, _ style: Style) -> String {
    usesColor && style != .plain && !text.isEmpty
      ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
  }

  /// Breaks prose at blanks; a word that is too long stays whole, so that it can be copied.
  static func wrapped(_ text: String, width: Int) -> [String] {
    var lines: [String] = []
    var line = ""
    for word in text.split(separator: " ") {
      if !line.isEmpty, line.count + 1 + word.count > width {
        lines.append(line)
        line = ""
      }
      line += (line.isEmpty ? "" : " ") + word
    }
    lines.append(line)
    return lines
  }
}

extension ReportSection.Row {
  /// Columns that the name of a field takes.
  fileprivate var nameWidth: Int {
    if case .field(let field) = self { return field.name.escapedForTerminal().count }
    return 0
  }
}
