/// How a run ended that left no dump.
extension TextReport {
  mutating func addEnd() {
    guard let end = report.end else { return }
    addField("Certainty", end.certainty)
    addField("Hang", end.hangReport.map { "report \($0)" })
    lines.append("")
    lines.append("Evidence:")
    for sentence in end.evidence { lines.append("  " + sentence.escapedForTerminal()) }
  }
}
