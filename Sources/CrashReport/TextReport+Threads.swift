extension TextReport {
  mutating func addThreads() {
    let crashed = report.threads.filter(\.crashed)
    for thread in crashed {
      addThread(thread)
      for note in report.symbolNotes(on: thread) {
        lines += Self.wrapped(note.escapedForTerminal(), width: width - 2).map { "  " + $0 }
      }
      addRegisters(thread)
    }
    for group in ThreadGroup.groups(of: report.threads.filter { !$0.crashed }) {
      guard let first = group.threads.first else { continue }
      addThread(first)
      for thread in group.threads.dropFirst() {
        lines += ["", report.title(of: thread).escapedForTerminal() + ":"]
        lines.append(styled("  the stack of thread \(first.id)", .faint))
      }
    }
    for note in report.missingThreads { lines += ["", note] }
  }

  private mutating func addThread(_ thread: CrashReport.Thread) {
    let title = report.title(of: thread).escapedForTerminal() + ":"
    lines += ["", styled(title, thread.crashed ? .strong : .plain)]
    for item in StackListing(thread).items {
      switch item {
      case .frame(let frame, let number): addFrame(frame, index: number)
      case .elision(let words): lines.append("  " + words.escapedForTerminal())
      case .note(let words): lines.append(styled("  " + words.escapedForTerminal(), .faint))
      }
    }
  }

  private mutating func addFrame(_ frame: CrashReport.Frame, index: Int?) {
    let number = index.map { String($0) } ?? "?"
    let prefix = "  #" + number + String(repeating: " ", count: max(1, 4 - number.count))
    let function = (frame.function.map(FunctionName.short) ?? "??").escapedForTerminal()
    var location = ""
    if let line = frame.lineText {
      location = ((frame.lineApproximate == true ? "" : "at ") + line).escapedForTerminal()
    } else if let offset = frame.functionOffset {
      location = "+ \(offset.value)"
    }
    let offset = frame.moduleOffset.map { "+\($0)" } ?? ""
    let place = frame.module.map { ($0 + offset).escapedForTerminal() } ?? ""
    let doubt = frame.doubt.map { "[\($0)]" } ?? ""
    let start = prefix + styled(frame.address.padded, .faint) + " " + function
    let parts = [place.isEmpty ? "" : styled(place, .faint), doubt].filter { !$0.isEmpty }
    let rest = ([location].filter { !$0.isEmpty } + parts).joined(separator: "  ")
    let columns = [
      prefix.count + frame.address.padded.count, function.count, location.count, place.count,
      doubt.count,
    ].reduce(0, +)
    if rest.isEmpty {
      lines.append(start)
    } else if columns + 6 <= width {
      // The gaps between the parts are 6 columns at most.
      lines.append(start + (location.isEmpty ? "  " : " ") + rest)
    } else {
      lines += [start, "       " + rest]
    }
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
