/// Finds summaries among the lines of a log, each of which may begin with anything: a time, a host, a
/// container's name.
///
/// Lines belong together that have the same process ID and, but for times, the same text in front: of two
/// containers each first process is process 1. Skips every other line; lines and open summaries of a
/// process are bounded.
package struct LoggedSummaryReader {
  private static let mark = Array("postmortem[".utf8)
  /// The handler writes fewer.
  private static let maximumLines = 512
  /// Summaries that may be open at a time.
  private static let maximumOpen = 256

  private struct Open {
    var summary: LoggedSummary
    var lines = 0
    let origin: LogOrigin
    /// True once a second line had the same origin: then lines of other origins are of others.
    var isSteady = false
    /// True once a line of another origin was taken for one of this process.
    var isChanging = false
  }

  private var open: [Open] = []
  private var finished: [LoggedSummary] = []

  package init() {}

  /// Takes one line, without its line feed.
  ///
  /// - Parameter source: tells lines of several processes apart beside the text in front.
  package mutating func take(_ line: [UInt8], from source: String = "") {
    guard let (front, processID, words) = Self.content(of: line) else { return }
    let origin = LogOrigin(processID: processID, source: source, front: front)
    let (word, rest) = Self.split(words)
    // Version 1 began with another word.
    if word == "crash-summary" || word == "last-words" {
      // The same process ID again: another process of the same log.
      close(origin)
      let (version, architecture) = Self.split(rest)
      guard version == (word == "last-words" ? "1" : "2") else { return }
      if open.count == Self.maximumOpen { finished.append(open.removeFirst().summary) }
      open.append(
        Open(
          summary: LoggedSummary(processID: processID, architecture: architecture), origin: origin))
      return
    }
    if word == "crash-report" {
      close(origin)
      finished.append(LoggedSummary(processID: processID, line: rest))
      return
    }
    guard let index = index(of: origin) else { return }
    open[index].lines += 1
    if word == "end" { open[index].summary.isWhole = true }
    if open[index].lines < Self.maximumLines, !open[index].summary.isWhole {
      open[index].summary.add(word, rest)
    } else {
      finished.append(open.remove(at: index).summary)
    }
  }

  /// The open summary that a line of an origin belongs to.
  ///
  /// Without one of the same origin it is one whose text in front changes from line to line, as the
  /// numbers that grep(1) adds do.
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

  /// The summaries so far that no more lines can be added to.
  package mutating func takeFinished() -> [LoggedSummary] {
    defer { finished = [] }
    return finished
  }

  /// All that are left, at the end of the log.
  package mutating func finish() -> [LoggedSummary] {
    finished += open.map(\.summary)
    open = []
    return takeFinished()
  }

  private mutating func close(_ origin: LogOrigin) {
    let index = open.firstIndex {
      $0.origin == origin || $0.isChanging && !$0.isSteady && $0.origin.isSimilar(to: origin)
    }
    if let index { finished.append(open.remove(at: index).summary) }
  }

  /// The process ID of `postmortem[PID]: `, wherever that is in the line, and the texts in front of it and
  /// behind it.
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
