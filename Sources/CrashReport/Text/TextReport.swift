package import CrashAnalysis
internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

/// A report as text for a terminal.
///
/// The text starts with the event and its place, the program's own data, the crashing thread and the other threads.
/// Details that few readers need come last.
///
/// Text from the dump is escaped, so that a thread's name cannot control the terminal.
package struct TextReport: Sendable {
  let report: CrashReport
  let width: Int
  /// True to show everything that is known; false to make the short report.
  let isFull: Bool
  private let usesColor: Bool
  /// True to wrap long facts too; in a pipe, each fact stays on one line.
  private let wrapsFacts: Bool
  /// Distinguishes calls of the program's own code from other calls.
  let ownCode: OwnCode
  var lines: [String] = []

  /// Makes the whole report.
  ///
  /// - Parameters:
  ///   - report: the report to print.
  ///   - isFull: true to include data that the short report leaves out. Examples are absolute addresses, bytes at
  ///     registers, evidence that the head already shows, build IDs of other modules than the program's own, and older
  ///     breadcrumbs.
  ///   - width: the number of columns of the terminal; at least 40 are used. Prose is wrapped, but names are not cut.
  ///   - color: true to use escape sequences for colors (SGR).
  ///   - isForTerminal: true to wrap long facts too; in a pipe, each fact is on one line.
  /// - Returns: lines that each end in a line feed.
  package static func text(
    of report: CrashReport, isFull: Bool = false, width: Int = 80, color: Bool = false,
    isForTerminal: Bool = false
  ) -> String {
    var text = TextReport(
      report: report, width: max(width, 40), isFull: isFull, usesColor: color,
      wrapsFacts: isForTerminal)
    text.addHead()
    for section in report.programSections(isFull: isFull) { text.addSection(section) }
    text.addThreads()
    for thread in report.threads where report.showsRegisters(of: thread) {
      text.addRegisters(thread)
    }
    for section in report.sections(isFull: isFull) { text.addSection(section) }
    text.addModules()
    text.addCapture()
    return text.whole
  }

  /// The width up to which the first line is not wrapped, even on a narrower terminal.
  private static let headlineWidth = 120

  private var whole: String { lines.map { $0 + "\n" }.joined() }

  private init(
    report: CrashReport, width: Int, isFull: Bool, usesColor: Bool, wrapsFacts: Bool
  ) {
    self.report = report
    self.width = width
    self.isFull = isFull
    self.usesColor = usesColor
    self.wrapsFacts = wrapsFacts
    ownCode = report.ownCode
  }

  private mutating func addHead() {
    let head = report.head(isFull: isFull)
    addSentences(head)
    lines.append("")
    for field in head.signs + head.facts { addFact(field) }
  }

  private mutating func addFact(_ field: ReportField) {
    let name = styled(field.name.padded(to: 10) + " ", .faint)
    addValue(field.value.escapedForTerminal(), after: name, column: 11)
  }

  /// Adds a value after its name; for a terminal, a long value is wrapped at its column.
  private mutating func addValue(_ value: String, after name: String, column: Int) {
    guard wrapsFacts, column + value.count > width else { return lines.append(name + value) }
    let parts = Self.wrapped(value, width: max(width - column, 20))
    lines.append(name + (parts.first ?? ""))
    lines += parts.dropFirst().map { String(repeating: " ", count: column) + $0 }
  }

  private mutating func addSentences(_ head: CrashReport.Head) {
    let safe = head.sentence.escapedForTerminal(keepingLines: true)
    let sentence = safe.split(separator: "\n", omittingEmptySubsequences: false)
    func wrapped(_ line: Substring, width: Int, _ style: Style) -> [String] {
      Self.wrapped(String(line), width: width).map { styled($0, style) }
    }
    let isAlarm =
      report.snapshot.request.map { $0.kind == .hang } ?? !report.snapshot.isQuitRequest
    // Even on a narrower terminal, the first line of the sentence is wrapped only at `headlineWidth`. So the sentence
    // usually fits on one line, and the second line shows the place of the crash.
    lines += wrapped(
      sentence.first ?? "", width: max(width, Self.headlineWidth), isAlarm ? .alarm : .strong)
    if let place = head.place { lines.append(styled(place.escapedForTerminal(), .strong)) }
    for line in sentence.dropFirst() { lines += wrapped(line, width: width, .strong) }
    lines += head.contexts.map { styled(Self.assignment($0), .strong) }
    for paragraph in head.paragraphs {
      lines += Self.wrapped(paragraph.escapedForTerminal(), width: width)
    }
  }

  private mutating func addSection(_ section: ReportSection) {
    lines.append("")
    lines.append(section.title + ":")
    let column = section.rows.map(\.nameWidth).max() ?? 0
    for row in section.rows {
      switch row {
      case .field(let field):
        let label = field.name.escapedForTerminal().padded(to: column)
        addValue(
          field.value.escapedForTerminal(), after: "  " + label + " ", column: column + 3)
      case .assignment(let field): lines.append("  " + Self.assignment(field))
      case .text(let text): addValue(text.escapedForTerminal(), after: "  ", column: 2)
      }
    }
  }

  private mutating func addModules() {
    let modules = report.snapshot.modules
    guard !modules.isEmpty else { return }
    let used = report.modulesOnStacks
    lines.append("")
    lines.append("Modules on the stacks (of \(modules.count)):")
    for (index, module) in modules.enumerated() where used.contains(index) {
      let title = module.title.escapedForTerminal()
      let buildID =
        isFull || ownCode.contains(module) ? (module.buildIDText ?? "no build ID") + " " : ""
      lines.append("  \(module.address.padded) \(buildID)\(title)")
      if let note = report.symbolNotes[index] { lines.append("    \(note.escapedForTerminal())") }
    }
  }

  private mutating func addCapture() {
    guard let text = report.captureText else { return }
    lines.append("")
    lines += Self.wrapped(text, width: width)
  }

  private mutating func addThreads() {
    for thread in report.threads where thread.crashed {
      addThreadWithNotes(thread)
      addThrown()
    }
    for group in report.otherThreads(ownCode) {
      guard let first = group.threads.first else { continue }
      addThread(first)
      for thread in group.threads.dropFirst() {
        let title = report.title(of: thread, isFull: isFull).escapedForTerminal()
        lines += [title + ": " + styled("the stack of thread \(first.id)", .faint)]
        addContexts(of: thread)
      }
    }
    for note in report.missingThreads { lines += ["", note] }
  }

  private mutating func addThrown() {
    guard let thrown = report.thrown else { return }
    lines += ["", styled(report.title(of: thrown) + ":", .strong)]
    lines.append(styled("  " + ThrownError.note, .faint))
    for (frame, number) in thrown.numberedFrames {
      addFrame(frame, index: number)
      addSource(of: frame)
    }
  }

  private mutating func addThreadWithNotes(_ thread: ReportThread) {
    addThread(thread)
    for note in report.symbolNotes(on: thread) {
      lines += Self.wrapped(note.escapedForTerminal(), width: width - 2).map { "  " + $0 }
    }
  }

  private mutating func addThread(_ thread: ReportThread) {
    let title = report.title(of: thread, isFull: isFull).escapedForTerminal() + ":"
    lines += ["", styled(title, thread.crashed ? .strong : .plain)]
    // The head already shows the contexts of the crashed thread.
    if !thread.crashed { addContexts(of: thread) }
    for item in StackListing(thread, isFull: isFull).items {
      switch item {
      case .frame(let frame, let number):
        addFrame(frame, index: number)
        if thread.crashed { addSource(of: frame) }
      case .elision(let words):
        lines += Self.wrapped(words.escapedForTerminal(), width: width - 2).map { "  " + $0 }
      case .note(let words): lines.append(styled("  " + words.escapedForTerminal(), .faint))
      }
    }
  }

  private mutating func addContexts(of thread: ReportThread) {
    lines += thread.contextFields.map { "  " + Self.assignment($0) }
  }

  private static func assignment(_ field: ReportField) -> String {
    "\(field.name.escapedForTerminal()) = \(field.value.escapedForTerminal())"
  }

  enum Style: String {
    case plain = ""
    case strong = "1"
    case alarm = "1;31"
    case faint = "2"
  }

  func styled(_ text: String, _ style: Style) -> String {
    usesColor && style != .plain && !text.isEmpty
      ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
  }

  /// Wraps prose at spaces; a word that is too long stays whole, so that it can be copied.
  package static func wrapped(_ text: String, width: Int) -> [String] {
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
  /// The width of a field's name in columns.
  fileprivate var nameWidth: Int {
    if case .field(let field) = self { return field.name.escapedForTerminal().count }
    return 0
  }
}
