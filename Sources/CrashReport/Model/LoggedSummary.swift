internal import IntermediateDump
package import Stackwalk

/// A crash's summary on standard error, read back from a log.
///
/// Logs of version 1 begin it with `last-words`.
///
/// Source: Docs/CrashSummary.md, which describes the lines.
package struct LoggedSummary: Equatable {
  package struct Module: Equatable {
    /// Lower case; empty where the image has none.
    package var buildID: [UInt8]
    package var path: String
  }

  package struct Frame: Equatable {
    package var number: Int
    /// An index into `modules`; nil for an address outside all of them.
    package var module: Int?
    /// From the module's start, or the address itself where there is no module.
    package var offset: UInt64
    package var evidence: CandidateFrames.Entry.Evidence
    package var place: CandidateFrames.Entry.Place
    package var savedPointer: UInt64?
    /// The module's file name, as the frame's line says it.
    package var moduleName: String
  }

  package var processID: Int32
  package var architecture = ""
  package var product: String?
  package var version: String?
  /// As in its line: number, name, code and address.
  package var signal: [String] = []
  /// Of Swift's runtime.
  package var messages: [String] = []
  /// Of the C library.
  package var abortMessage: String?
  package var threadID = ""
  package var threadName: String?
  package var reportID: String?
  /// "complete", "torn" or "none".
  package var dump: String?
  /// The errno's name or number; nil where nothing failed.
  package var dumpFailure: String?
  package var dumpPath: String?
  /// By number; a number that was never named is missing.
  package var modules: [Int: Module] = [:]
  package var frames: [Frame] = []
  package var hasMoreFrames = false
  /// True once the last line was read.
  package var isWhole = false
  /// True for the single line that is printed in its place where Swift's backtracer is on.
  package var isLine = false
  /// True where a line says again, or otherwise, what another one had said, or out of its order: lines of
  /// two processes stand under one process ID, as of two containers.
  package private(set) var isContradictory = false
}

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

extension LoggedSummary {
  fileprivate init(processID: Int32, line: String) {
    self.init(processID: processID)
    let (reportID, dump) = LoggedSummaryReader.split(line)
    add("report", reportID)
    add("dump", dump)
    isWhole = true
    isLine = true
  }

  /// Adds a line; leaves out one that is damaged, or of a newer version.
  fileprivate mutating func add(_ word: String, _ text: String) {
    let (first, rest) = LoggedSummaryReader.split(text)
    switch word {
    case "product":
      note(product != nil)
      product = Self.unescaped(text)
    case "version":
      note(version != nil)
      version = Self.unescaped(text)
    case "signal":
      note(!signal.isEmpty)
      signal = text.split(separator: " ").map(String.init)
    case "message": messages.append(Self.unescaped(text))
    case "abort-message":
      note(abortMessage != nil)
      abortMessage = Self.unescaped(text)
    case "thread":
      note(!threadID.isEmpty)
      threadID = first
      threadName = rest.isEmpty ? nil : Self.unescaped(rest)
    case "report":
      note(reportID != nil)
      reportID = text
    case "dump":
      note(dump != nil)
      let (failure, path) = LoggedSummaryReader.split(rest)
      dump = first
      dumpFailure = failure == "-" ? nil : failure
      dumpPath = Self.unescaped(path)
    case "module":
      let (buildID, path) = LoggedSummaryReader.split(rest)
      guard let number = Int(first), let bytes = Self.bytes(ofHexadecimal: buildID) else { return }
      note(modules[number] != nil)
      modules[number] = Module(buildID: bytes, path: Self.unescaped(path))
    case "frame":
      let (place, name) = LoggedSummaryReader.split(rest)
      guard let number = Int(first), number >= 0, let frame = Self.frame(number, place, name)
      else { return }
      note(frames.last.map { $0.number >= number } ?? false)
      // A frame's module is named before it.
      note(frame.module.map { modules[$0] == nil } ?? false)
      frames.append(frame)
    case "more-frames": hasMoreFrames = true
    default: return
    }
  }

  private mutating func note(_ isContradiction: Bool) {
    if isContradiction { isContradictory = true }
  }

  /// `3+0x12ab@0x40`, `3~0x12ab@0x40^0x20`, `3?0x12ab@lr` or `-+0x7f0012ab`; version 1 has no
  /// places.
  private static func frame(_ number: Int, _ place: String, _ name: String) -> Frame? {
    guard let sign = place.firstIndex(where: { "+~?".contains($0) }) else { return nil }
    let saved = place[sign...].dropFirst().split(separator: "^", maxSplits: 1)
    let words = saved.first?.split(separator: "@", maxSplits: 1) ?? []
    guard let offset = words.first.flatMap(Self.number) else { return nil }
    let module = Int(place[..<sign])
    guard module != nil || place[..<sign] == "-" else { return nil }
    var found = CandidateFrames.Entry.Place.unknown
    if words.count == 2 {
      found =
        words[1] == "lr" ? .linkRegister : Self.number(words[1]).map { .stack($0) } ?? .unknown
    }
    let evidence: CandidateFrames.Entry.Evidence =
      switch place[sign] {
      case "+": .framePointer
      case "~": .savedPointer
      default: .candidate
      }
    return Frame(
      number: number, module: module, offset: offset, evidence: evidence, place: found,
      savedPointer: saved.count == 2 ? Self.number(saved[1]) : nil, moduleName: unescaped(name))
  }

  /// `0x12ab`.
  private static func number(_ text: Substring) -> UInt64? {
    text.hasPrefix("0x") ? UInt64(text.dropFirst(2), radix: 16) : nil
  }

  private static func bytes(ofHexadecimal text: String) -> [UInt8]? {
    if text == "-" { return [] }
    return text.utf8.count <= 128 ? [UInt8](hexadecimal: text.utf8) : nil
  }

  /// Reverts the handler's escaping; what is no escape stays as it is.
  package static func unescaped(_ text: String) -> String {
    var result: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      result.append(byte)
      guard byte == UInt8(ascii: "\\"), let letter = rest.first else { continue }
      let digits = rest.dropFirst().prefix(2)
      let meant: UInt8? =
        switch letter {
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        case UInt8(ascii: "\\"): 0x5C
        case UInt8(ascii: "x") where digits.count == 2: [UInt8](hexadecimal: digits)?.first
        default: nil
        }
      guard let meant else { continue }
      result[result.count - 1] = meant
      rest = rest.dropFirst(letter == UInt8(ascii: "x") ? 3 : 1)
    }
    return String(decoding: result, as: UTF8.self)
  }
}
