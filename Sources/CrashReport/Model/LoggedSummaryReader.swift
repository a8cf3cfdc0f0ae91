/// Finds crash summaries among the lines of a log.
///
/// A line may begin with any text, such as a time, a host name or a container's name.
///
/// Lines belong to the same summary if they have the same process ID and the same text before this ID, except for
/// times. The process ID alone is not enough, because the first process of each container has the ID 1. If other
/// numbers in this text change from line to line, as with `grep -n`, a line belongs to the only open summary whose text
/// differs only in numbers. The reader skips all lines that belong to no summary, and limits the lines of a summary and
/// the number of open summaries.
package struct LoggedSummaryReader {
  private static let mark = Array("postmortem[".utf8)
  /// The maximum number of lines of a summary; the handler writes fewer.
  private static let maximumLines = 512
  /// The maximum number of open summaries, whose first line has been read and whose last line has not.
  private static let maximumOpen = 256

  private struct Open {
    var summary: LoggedSummary
    var lines = 0
    let origin: LogOrigin
    /// True after a second line with the same origin; from then on, lines with other origins belong to other
    /// processes.
    var isSteady = false
    /// True after a line with a similar origin was treated as a line of this summary.
    var isChanging = false
    /// True if this summary began before the previous summary of its origin had ended.
    let hasInterrupted: Bool

    /// True if `other` is this summary's origin, or may be, because the text before the process ID changes from line
    /// to line.
    func isReplaced(by other: LogOrigin) -> Bool {
      origin == other || isChanging && !isSteady && origin.isSimilar(to: other)
    }
  }

  private var open: [Open] = []
  /// Complete summaries that began before another summary of the same origin had ended.
  ///
  /// The next lines show whether the earlier summary was cut off, or whether the lines of two processes are mixed.
  private var doubtful: [Open] = []
  private var finished: [LoggedSummary] = []

  package init() {}

  /// Reads one line, without its line feed.
  ///
  /// - Parameter source: the name of the log, such as a file name. Together with the text before the process ID, this
  ///   name distinguishes the lines of several processes.
  package mutating func take(_ line: [UInt8], from source: String = "") {
    let line = Self.withoutColors(line)
    guard let (front, processID, words) = Self.content(of: line) else { return }
    let origin = LogOrigin(processID: processID, source: source, front: front)
    let (word, rest) = Self.split(words)
    if word == "crash-summary" {
      // The new summary ends the open summary of the same origin, which is incomplete.
      let hasInterrupted = close(origin)
      let (version, architecture) = Self.split(rest)
      guard version == "1" else { return }
      if open.count == Self.maximumOpen { finished.append(open.removeFirst().summary) }
      open.append(
        Open(
          summary: LoggedSummary(processID: processID, architecture: architecture), origin: origin,
          hasInterrupted: hasInterrupted))
      return
    }
    if word == "crash-report" {
      _ = close(origin)
      finished.append(LoggedSummary(processID: processID, line: rest))
      return
    }
    guard let index = index(of: origin) else { return noteStray(word, of: origin) }
    open[index].lines += 1
    if word == "end" { open[index].summary.isWhole = true }
    if open[index].lines < Self.maximumLines, !open[index].summary.isWhole {
      open[index].summary.add(word, rest)
      return
    }
    let ended = open.remove(at: index)
    guard ended.hasInterrupted, doubtful.count < Self.maximumOpen else {
      finished.append(ended.summary)
      return
    }
    doubtful.append(ended)
  }

  /// Handles a line for which no summary is open.
  ///
  /// Such a line may belong to a summary that a later summary interrupted. The later summary then contains lines of two
  /// processes.
  private mutating func noteStray(_ word: String, of origin: LogOrigin) {
    guard let index = doubtful.firstIndex(where: { $0.isReplaced(by: origin) }) else { return }
    var mixed = doubtful.remove(at: index).summary
    mixed.noteStray(word)
    finished.append(mixed)
  }

  /// The index of the open summary to which a line of an origin belongs; nil if there is none.
  ///
  /// If no open summary has the same origin, the line may belong to a summary whose leading text changes from line to
  /// line. For example, `grep -n` adds line numbers.
  private mutating func index(of origin: LogOrigin) -> Int? {
    if let index = open.firstIndex(where: { $0.origin == origin }) {
      open[index].isSteady = true
      return index
    }
    let similar = open.indices.filter {
      !open[$0].isSteady && open[$0].origin.isSimilar(to: origin)
    }
    guard similar.count == 1 else { return nil }
    open[similar[0]].isChanging = true
    return similar[0]
  }

  /// Returns and removes the summaries to which no more lines can be added.
  package mutating func takeFinished() -> [LoggedSummary] {
    defer { finished = [] }
    return finished
  }

  /// Returns all remaining summaries, at the end of the log.
  package mutating func finish() -> [LoggedSummary] {
    finished += (doubtful + open).map(\.summary)
    (doubtful, open) = ([], [])
    return takeFinished()
  }

  /// Ends the open summaries of an origin, because another summary of the same origin begins.
  ///
  /// - Returns: true if one of these summaries was incomplete.
  private mutating func close(_ origin: LogOrigin) -> Bool {
    if let index = doubtful.firstIndex(where: { $0.isReplaced(by: origin) }) {
      finished.append(doubtful.remove(at: index).summary)
    }
    guard let index = open.firstIndex(where: { $0.isReplaced(by: origin) }) else { return false }
    finished.append(open.remove(at: index).summary)
    return true
  }

  /// Removes the escape sequences with which other programs color lines; the handler writes none.
  ///
  /// Source: ECMA-48, 5.4, control sequences.
  private static func withoutColors(_ line: [UInt8]) -> [UInt8] {
    guard line.contains(0x1B) else { return line }
    var result: [UInt8] = []
    var rest = line[...]
    while let byte = rest.popFirst() {
      guard byte == 0x1B, rest.first == UInt8(ascii: "[") else {
        result.append(byte)
        continue
      }
      let end = rest.dropFirst().firstIndex { (0x40...0x7E).contains($0) }
      rest = end.map { rest[($0 + 1)...] } ?? []
    }
    return result
  }

  /// Finds `postmortem[PID]: ` anywhere in a line; returns the text before it, the process ID and the text after it.
  private static func content(of line: [UInt8]) -> (front: ArraySlice<UInt8>, Int32, String)? {
    var index = 0
    while index + mark.count < line.count {
      guard line[index] == mark[0], line[index...].starts(with: mark) else {
        index += 1
        continue
      }
      let digits = line[(index + mark.count)...].prefix(11).prefix { $0 != UInt8(ascii: "]") }
      if let processID = Int32(String(decoding: digits, as: UTF8.self)), processID > 0,
        line[digits.endIndex...].starts(with: Array("]: ".utf8))
      {
        var rest = line[(digits.endIndex + 3)...]
        if rest.last == UInt8(ascii: "\r") { rest.removeLast() }
        return (line[..<index], processID, String(decoding: rest, as: UTF8.self))
      }
      index += 1
    }
    return nil
  }

  static func split(_ text: String) -> (word: String, rest: String) {
    guard let blank = text.firstIndex(of: " ") else { return (text, "") }
    return (String(text[..<blank]), String(text[text.index(after: blank)...]))
  }
}
