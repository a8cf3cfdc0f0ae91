/// Finds summaries among the lines of a log.
///
/// A line may begin with any text: a time, a host, a container's name.
///
/// Lines belong together if they have the same process ID and, except for times, the same text before it, because the
/// first process of each container has the ID 1. It skips every other line, and limits the lines and open summaries
/// of a process.
package struct LoggedSummaryReader {
  private static let mark = Array("postmortem[".utf8)
  /// The maximum number of lines of a summary; the handler writes fewer.
  private static let maximumLines = 512
  /// The maximum number of summaries that are open at the same time.
  private static let maximumOpen = 256

  private struct Open {
    var summary: LoggedSummary
    var lines = 0
    let origin: LogOrigin
    /// True once a second line had the same origin: lines with other origins then belong to other processes.
    var isSteady = false
    /// True once a line of another origin was treated as a line of this process.
    var isChanging = false
    /// True if it began before the previous summary of its origin had ended.
    let hasInterrupted: Bool

    /// True if a new summary of an origin is one of the same program.
    func isReplaced(by other: LogOrigin) -> Bool {
      origin == other || isChanging && !isSteady && origin.isSimilar(to: other)
    }
  }

  private var open: [Open] = []
  /// Complete summaries that had interrupted another one.
  ///
  /// The next lines show whether the other one was cut off, or the lines of two processes are mixed.
  private var doubtful: [Open] = []
  private var finished: [LoggedSummary] = []

  package init() {}

  /// Reads one line, without its line feed.
  ///
  /// - Parameter source: distinguishes lines of several processes, in addition to the text before the line.
  package mutating func take(_ line: [UInt8], from source: String = "") {
    let line = Self.withoutColors(line)
    guard let (front, processID, words) = Self.content(of: line) else { return }
    let origin = LogOrigin(processID: processID, source: source, front: front)
    let (word, rest) = Self.split(words)
    // Version 1 began with another word.
    if word == "crash-summary" || word == "last-words" {
      // The same process ID occurs again, for another process in the same log.
      let hasInterrupted = close(origin)
      let (version, architecture) = Self.split(rest)
      guard version == (word == "last-words" ? "1" : "2") else { return }
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

  /// Handles a line without an open summary.
  ///
  /// It belongs to a summary that an uncertain one has interrupted, which may therefore contain lines of the other.
  private mutating func noteStray(_ word: String, of origin: LogOrigin) {
    guard let index = doubtful.firstIndex(where: { $0.isReplaced(by: origin) }) else { return }
    var mixed = doubtful.remove(at: index).summary
    mixed.noteStray(word)
    finished.append(mixed)
  }

  /// The open summary to which a line of an origin belongs.
  ///
  /// If there is none of the same origin, it is a summary whose leading text changes from line to line, like the line
  /// numbers that grep(1) adds.
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

  /// The summaries so far to which no more lines can be added.
  package mutating func takeFinished() -> [LoggedSummary] {
    defer { finished = [] }
    return finished
  }

  /// All remaining summaries, at the end of the log.
  package mutating func finish() -> [LoggedSummary] {
    finished += (doubtful + open).map(\.summary)
    (doubtful, open) = ([], [])
    return takeFinished()
  }

  /// Ends the summaries of an origin, because another summary of that origin begins.
  ///
  /// - Returns: true if one of them was incomplete.
  private mutating func close(_ origin: LogOrigin) -> Bool {
    if let index = doubtful.firstIndex(where: { $0.isReplaced(by: origin) }) {
      finished.append(doubtful.remove(at: index).summary)
    }
    guard let index = open.firstIndex(where: { $0.isReplaced(by: origin) }) else { return false }
    finished.append(open.remove(at: index).summary)
    return true
  }

  /// The line without sequences that color it on a terminal; the handler writes no such bytes.
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

  /// The process ID of `postmortem[PID]: `, wherever that is in the line, and the text before and after it.
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
