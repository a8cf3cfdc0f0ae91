extension TextReport {
  mutating func addThreads() {
    for thread in report.threads {
      lines.append("")
      let title = report.title(of: thread).escapedForTerminal() + ":"
      lines.append(styled(title, thread.crashed ? .strong : .plain))
      for item in StackListing(thread).items {
        switch item {
        case .frame(let frame, let number): addFrame(frame, index: number)
        case .elision(let words): lines.append("  " + words.escapedForTerminal())
        case .note(let words): lines.append(styled("  " + words.escapedForTerminal(), .faint))
        }
      }
      if thread.crashed { addRegisters(thread) }
    }
    for note in report.missingThreads { lines += ["", note] }
  }

  private mutating func addFrame(_ frame: CrashReport.Frame, index: Int?) {
    let number = index.map { String($0) } ?? "?"
    let prefix = "  #" + number + String(repeating: " ", count: max(1, 4 - number.count))
    var text = frame.function.map(FunctionName.short) ?? "??"
    if let line = frame.lineText {
      text += (frame.lineApproximate == true ? " " : " at ") + line
    } else if let offset = frame.functionOffset {
      text += " + \(offset.value)"
    }
    let place = frame.module.map { module in
      "  \(module)" + (frame.moduleOffset.map { "+\($0)" } ?? "")
    }
    let doubt = frame.doubt.map { "  [\($0)]" } ?? ""
    lines.append(
      prefix + styled(frame.address.padded, .faint) + " " + text.escapedForTerminal()
        + styled((place ?? "").escapedForTerminal(), .faint) + doubt)
  }

  private mutating func addRegisters(_ thread: CrashReport.Thread) {
    guard !thread.registers.isEmpty else { return }
    lines.append("")
    lines.append("Registers:")
    let cells = thread.registerNames.map { name in
      let label = String(repeating: " ", count: max(0, 6 - name.count)) + name
      return label + " " + (thread.registers[name] ?? HexAddress(0)).wide
    }
    let columns = max(1, (width - 1) / 24)
    for start in stride(from: 0, to: cells.count, by: columns) {
      lines.append(cells[start..<min(start + columns, cells.count)].joined(separator: " "))
    }
  }
}
