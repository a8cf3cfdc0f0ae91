internal import CrashAnalysis

/// A line of source code as reports show it, or the line with the mark `^`, which follows the location's line.
struct SourceLine {
  let text: String
  /// True for the location's line and for the line with the mark.
  let isMarked: Bool
}

extension SourceExcerpt {
  /// The lines with their numbers, and with a mark under the location's column.
  var numberedLines: [SourceLine] {
    let width = String(marked + Self.context).count
    return lines.enumerated().flatMap { index, content -> [SourceLine] in
      let number = first + index
      let label = String(number).indented(to: width)
      let line = SourceLine(text: "\(label) | \(content)", isMarked: number == marked)
      guard line.isMarked, let charactersBefore else { return [line] }
      let gap = String(repeating: " ", count: width + 3 + charactersBefore)
      return [line, SourceLine(text: gap + "^", isMarked: true)]
    }
  }
}
