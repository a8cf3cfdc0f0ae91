internal import ProcessSnapshot
internal import Stackwalk

/// A report as text for a terminal: the cause first, then the crashing thread, then everything
/// else.
///
/// Text from the dump is escaped, so that a thread's name cannot steer the terminal.
package struct TextReport: Sendable {
  private let report: CrashReport
  private let width: Int
  private let usesColor: Bool
  /// Tells the program's own calls from others.
  private let ownCode: OwnCode
  private var lines: [String] = []

  /// The whole report.
  ///
  /// - Parameters:
  ///   - report: the report to print.
  ///   - width: columns of the terminal; at least 40 are used. Names are not cut, prose is wrapped.
  ///   - color: true to use SGR escape sequences.
  /// - Returns: lines that each end in a line feed.
  package static func text(of report: CrashReport, width: Int = 80, color: Bool = false) -> String {
    var text = TextReport(report: report, width: max(width, 40), usesColor: color)
    text.addHead()
    text.addThreads()
    for section in report.sections { text.addSection(section) }
    text.addModules()
    text.addCapture()
    return text.whole
  }

  /// The report of a crash that only a log tells of: its head, and its stack by places in modules.
  ///
  /// - Parameters:
  ///   - report: the report to print.
  ///   - width: as for `text`.
  ///   - color: as for `text`.
  package static func text(
    ofLogged report: CrashReport, width: Int = 80, color: Bool = false
  ) -> String {
    var text = TextReport(report: report, width: max(width, 40), usesColor: color)
    text.addSentences()
    for field in report.head.signs + report.head.facts where loggedFacts.contains(field.name) {
      text.addFact(field)
    }
    for thread in report.threads { text.addThreadWithNotes(thread) }
    return text.whole
  }

  /// The facts that are not in the log's own words.
  private static let loggedFacts: Set = ["Cause", "Signature"]

  private var whole: String { lines.map { $0 + "\n" }.joined() }

  private init(report: CrashReport, width: Int, usesColor: Bool) {
    self.report = report
    self.width = width
    self.usesColor = usesColor
    ownCode = report.ownCode
  }

  private mutating func addHead() {
    addSentences()
    lines.append("")
    for field in report.head.signs + report.head.facts { addFact(field) }
  }

  private mutating func addFact(_ field: ReportField) {
    lines.append(
      styled(field.name.padded(to: 10) + " ", .faint) + field.value.escapedForTerminal())
  }

  private mutating func addSentences() {
    let head = report.head
    let safe = head.sentence.escapedForTerminal(keepingLines: true)
    for line in safe.split(separator: "\n", omittingEmptySubsequences: false) {
      lines += Self.wrapped(String(line), width: width).map { styled($0, .strong) }
    }
    if let place = head.place { lines.append(styled(place.escapedForTerminal(), .strong)) }
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
        lines.append("  " + label + " " + field.value.escapedForTerminal())
      case .assignment(let field): lines.append("  " + Self.assignment(field))
      case .text(let text): lines.append("  " + text.escapedForTerminal())
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
      let buildID = module.buildIDText ?? "no build ID"
      lines.append("  \(module.address.padded) \(buildID) \(module.title.escapedForTerminal())")
      if let note = report.symbolNotes[index] { lines.append("    \(note.escapedForTerminal())") }
    }
  }

  private mutating func addCapture() {
    guard let text = report.captureText else { return }
    lines.append("")
    lines += Self.wrapped(text, width: width)
  }

  private mutating func addThreads() {
    let crashed = report.threads.filter(\.crashed)
    for thread in crashed {
      addThreadWithNotes(thread)
      addThrown()
      addRegisters(thread)
    }
    for group in ThreadGroup.groups(of: report.threads.filter { !$0.crashed }) {
      guard let first = group.threads.first else { continue }
      addThread(first)
      for thread in group.threads.dropFirst() {
        lines += ["", report.title(of: thread).escapedForTerminal() + ":"]
        addContexts(of: thread)
        lines.append(styled("  the stack of thread \(first.id)", .faint))
      }
    }
    for note in report.missingThreads { lines += ["", note] }
  }

  private mutating func addThrown() {
    guard let thrown = report.thrown else { return }
    lines += ["", styled(report.title(of: thrown) + ":", .strong)]
    lines.append(styled("  " + CrashReport.Thrown.note, .faint))
    for (frame, number) in thrown.numberedFrames {
      addFrame(frame, index: number)
      addSource(of: frame)
    }
  }

  private mutating func addThreadWithNotes(_ thread: CrashReport.Thread) {
    addThread(thread)
    for note in report.symbolNotes(on: thread) {
      lines += Self.wrapped(note.escapedForTerminal(), width: width - 2).map { "  " + $0 }
    }
  }

  private mutating func addThread(_ thread: CrashReport.Thread) {
    let title = report.title(of: thread).escapedForTerminal() + ":"
    lines += ["", styled(title, thread.crashed ? .strong : .plain)]
    addContexts(of: thread)
    for item in StackListing(thread).items {
      switch item {
      case .frame(let frame, let number):
        addFrame(frame, index: number)
        if thread.crashed { addSource(of: frame) }
      case .elision(let words): lines.append("  " + words.escapedForTerminal())
      case .note(let words): lines.append(styled("  " + words.escapedForTerminal(), .faint))
      }
    }
  }

  private mutating func addContexts(of thread: CrashReport.Thread) {
    for context in thread.contextFields {
      lines.append("  " + styled(Self.assignment(context), thread.crashed ? .strong : .plain))
    }
  }

  private static func assignment(_ field: ReportField) -> String {
    "\(field.name.escapedForTerminal()) = \(field.value.escapedForTerminal())"
  }

  private mutating func addFrame(_ frame: StackFrame, index: Int?) {
    let prefix = "  #" + (index.map { String($0) } ?? "?").padded(to: 3) + " "
    let function = frame.shortName.escapedForTerminal()
    var location = ""
    if let line = frame.lineText {
      let isApproximate = frame.sourceLocation?.isApproximate == true
      location = ((isApproximate ? "" : "at ") + line).escapedForTerminal()
    } else if let offset = frame.symbol?.offset {
      location = "+ \(offset)"
    }
    let module = report.snapshot.modules.module(of: frame)
    let place = module?.text(of: frame.address).escapedForTerminal() ?? ""
    let doubt = frame.doubt.map { "[\($0)]" } ?? ""
    let style = ownCode.standsOut(frame) ? Style.strong : .plain
    // In a log only places in modules are known.
    let address = report.log != nil && module != nil ? "" : frame.address.padded + " "
    let start = prefix + styled(address, .faint) + styled(function, style)
    let parts = [place.isEmpty ? "" : styled(place, .faint), doubt].filter { !$0.isEmpty }
    let rest = ([location].filter { !$0.isEmpty } + parts).joined(separator: "  ")
    let columns = [
      prefix.count + address.count, function.count, location.count, place.count, doubt.count,
    ].reduce(0, +)
    if rest.isEmpty {
      lines.append(start)
    } else if columns + 5 <= width {
      // The gaps between the parts are 5 columns at most.
      lines.append(start + (location.isEmpty ? "  " : " ") + rest)
    } else {
      lines += [start, "       " + rest]
    }
  }

  private mutating func addSource(of frame: StackFrame) {
    guard let place = frame.sourceLocation, let excerpt = report.excerpts[place] else { return }
    for line in excerpt.lines {
      let text = "       " + line.text.escapedForTerminal()
      lines.append(styled(text, line.isMarked ? .plain : .faint))
    }
  }

  /// Those that point somewhere a line each, with the bytes there, then the others in columns.
  private mutating func addRegisters(_ thread: CrashReport.Thread) {
    let registers = thread.sortedRegisters
    guard !registers.isEmpty else { return }
    lines.append("")
    lines.append("Registers:")
    var cells: [String] = []
    for (name, value) in registers {
      let cell = name.indented(to: 6) + " " + value.wide
      guard let place = report.snapshot.place(of: value) else {
        cells.append(cell)
        continue
      }
      let line = cell + "  " + place.escapedForTerminal()
      guard let bytes = report.snapshot.memory.bytes(at: value, count: 16) else {
        lines.append(line)
        continue
      }
      let row = bytes.hexadecimalRow
      if line.count + 2 + row.count < width {
        lines.append(line + "  " + row)
      } else {
        lines += [line, "       " + row]
      }
    }
    for (name, value) in thread.snapshot.context?.segmentRegisters ?? [] {
      cells.append(name.indented(to: 6) + " " + Address(value).wide)
    }
    let columns = max(1, (width - 1) / 24)
    for start in stride(from: 0, to: cells.count, by: columns) {
      lines.append(cells[start..<min(start + columns, cells.count)].joined(separator: " "))
    }
  }

  private enum Style: String {
    case plain = ""
    case strong = "1"
    case faint = "2"
  }

  private func styled(_ text: String, _ style: Style) -> String {
    usesColor && style != .plain && !text.isEmpty
      ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
  }

  /// Breaks prose at blanks; a word that is too long stays whole, so that it can be copied.
  private static func wrapped(_ text: String, width: Int) -> [String] {
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
