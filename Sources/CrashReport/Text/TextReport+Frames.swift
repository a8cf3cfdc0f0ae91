internal import CrashAnalysis
internal import ProcessSnapshot
internal import Stackwalk

extension TextReport {
  /// Adds a frame, on one line unless the terminal is too narrow.
  mutating func addFrame(_ frame: StackFrame, index: Int?) {
    let prefix = "  #" + (index.map { String($0) } ?? "?").padded(to: 3) + " "
    let name = frame.shortName.escapedForTerminal()
    let address = isFull ? frame.address.padded + " " : ""
    let style = ownCode.isEmphasized(frame) ? Style.strong : .plain
    let start = prefix + styled(address, .faint) + styled(name, style)
    let parts = parts(of: frame)
    let line = parts.line.map { " " + $0.escapedForTerminal() } ?? ""
    let faint = parts.places.map { $0.escapedForTerminal() }
    let doubt = frame.doubt.map { "[\($0)]" }
    let columns =
      (faint + [doubt].compactMap(\.self)).reduce(prefix.count + address.count + name.count) {
        $0 + 2 + $1.count
      } + line.count
    let rest =
      line + faint.map { "  " + styled($0, .faint) }.joined() + (doubt.map { "  " + $0 } ?? "")
    if rest.isEmpty || columns <= width {
      lines.append(start + rest)
    } else {
      lines += [start, "       " + rest.drop { $0 == " " }]
    }
  }

  private func module(of frame: StackFrame) -> ModuleSnapshot? {
    report.snapshot.modules.module(of: frame)
  }

  /// The text after a frame's name.
  ///
  /// `line` is the file and line, or else the offset in the function. `places` contains the module or the offset in it,
  /// and the address, as far as the report shows them.
  private func parts(of frame: StackFrame) -> (line: String?, places: [String]) {
    let module = module(of: frame)
    let place = module?.text(of: frame.address)
    let isApproximate = frame.sourceLocation?.isApproximate == true
    let line =
      frame.lineText.map { (isApproximate ? "" : "at ") + $0 }
      ?? (frame.symbol?.offset).map { "+ \($0)" }
    if isFull { return (line, [place].compactMap(\.self)) }
    if frame.lineText != nil { return (line, []) }
    guard frame.function == nil else { return (line, [module?.name].compactMap(\.self)) }
    return (line, [place, frame.address.description].compactMap(\.self))
  }

  /// Adds the lines of source code around a frame's source location.
  mutating func addSource(of frame: StackFrame) {
    guard let place = frame.sourceLocation, let excerpt = report.excerpts[place] else { return }
    for line in excerpt.numberedLines {
      let text = "       " + line.text.escapedForTerminal()
      lines.append(styled(text, line.isMarked ? .plain : .faint))
    }
  }

  /// Adds the registers.
  ///
  /// Registers with a known value come first, one per line, and the other registers follow in columns. A value is known
  /// if it is an address in a known mapping, or if it has a known meaning.
  mutating func addRegisters(_ thread: ReportThread) {
    let registers = thread.sortedRegisters
    guard !registers.isEmpty else { return }
    lines.append("")
    lines.append("Registers:")
    var cells: [String] = []
    for (name, value) in registers {
      let cell = name.indented(to: 6) + " " + value.wide
      let place = report.snapshot.place(of: value)
      let words = report.word(inRegister: name)?.words
      guard place != nil || words != nil else {
        cells.append(cell)
        continue
      }
      let line =
        cell + [words, place].compactMap(\.self).map { "  " + $0.escapedForTerminal() }.joined()
      guard isFull, let bytes = report.snapshot.memory.bytes(at: value, count: 16) else {
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
    for (name, value) in isFull ? thread.snapshot.context?.segmentRegisters ?? [] : [] {
      cells.append(name.indented(to: 6) + " " + Address(value).wide)
    }
    let columns = max(1, (width - 1) / 24)
    for start in stride(from: 0, to: cells.count, by: columns) {
      lines.append(cells[start..<min(start + columns, cells.count)].joined(separator: " "))
    }
  }
}
