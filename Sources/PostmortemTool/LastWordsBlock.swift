internal import Stackwalk

/// What a crash wrote to standard error, read back from a log.
///
/// Docs/Reports.md describes the lines.
struct LastWordsBlock: Equatable {
  struct Module: Equatable {
    /// Lower case; empty where the image has none.
    var buildID: [UInt8]
    var path: String
  }

  struct Frame: Equatable {
    var number: Int
    /// An index into `modules`; nil for an address outside all of them.
    var module: Int?
    /// From the module's start, or the address itself where there is no module.
    var offset: UInt64
    var evidence: CandidateFrames.Entry.Evidence
    var place: CandidateFrames.Entry.Place
    var savedPointer: UInt64?
    /// The module's file name, as the frame's line says it.
    var moduleName: String
  }

  var processID: Int32
  var architecture = ""
  var product: String?
  var version: String?
  /// As in the block: number, name, code and address.
  var signal: [String] = []
  var messages: [String] = []
  var threadID = ""
  var threadName: String?
  var reportID: String?
  /// "complete", "torn" or "none".
  var dump: String?
  /// The errno's name or number; nil where nothing failed.
  var dumpFailure: String?
  var dumpPath: String?
  /// By number; a number that was never named is missing.
  var modules: [Int: Module] = [:]
  var frames: [Frame] = []
  var hasMoreFrames = false
  /// True once the block's last line was read.
  var isWhole = false
  /// True for the one line that stands in place of a block where Swift's backtracer prints.
  var isLine = false
}

/// Finds blocks among the lines of a log, each of which may begin with anything: a time, a host, a
/// container's name.
///
/// Total: a line that is none of a block's is passed over, and what one process may add is bounded.
struct LastWordsReader {
  private static let mark = Array("postmortem[".utf8)
  /// More than a block of 4,096 bytes can hold.
  private static let maximumLines = 400
  /// Blocks that may be open at a time.
  private static let maximumOpen = 256

  private var open: [(block: LastWordsBlock, lines: Int)] = []
  private var finished: [LastWordsBlock] = []

  /// Takes one line, without its line feed.
  mutating func take(_ line: [UInt8]) {
    guard let (processID, words) = Self.content(of: line) else { return }
    let (word, rest) = Self.split(words)
    // Version 1 began with another word.
    if word == "crash-summary" || word == "last-words" {
      // The same process ID again: another process of the same log.
      close(processID)
      let (version, architecture) = Self.split(rest)
      guard version == (word == "last-words" ? "1" : "2") else { return }
      if open.count == Self.maximumOpen { finished.append(open.removeFirst().block) }
      open.append((LastWordsBlock(processID: processID, architecture: architecture), 0))
      return
    }
    if word == "crash-report" {
      close(processID)
      finished.append(LastWordsBlock(processID: processID, line: rest))
      return
    }
    guard let index = open.firstIndex(where: { $0.block.processID == processID }) else { return }
    open[index].lines += 1
    if word == "end" { open[index].block.isWhole = true }
    if open[index].lines < Self.maximumLines, !open[index].block.isWhole {
      open[index].block.add(word, rest)
    } else {
      close(processID)
    }
  }

  /// The blocks so far that no more lines can be added to.
  mutating func takeFinished() -> [LastWordsBlock] {
    defer { finished = [] }
    return finished
  }

  /// All that are left, at the end of the log.
  mutating func finish() -> [LastWordsBlock] {
    finished += open.map(\.block)
    open = []
    return takeFinished()
  }

  private mutating func close(_ processID: Int32) {
    guard let index = open.firstIndex(where: { $0.block.processID == processID }) else { return }
    finished.append(open.remove(at: index).block)
  }

  /// What stands behind `postmortem[PID]: `, wherever that is in the line.
  private static func content(of line: [UInt8]) -> (Int32, String)? {
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
        return (processID, String(decoding: rest, as: UTF8.self))
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

extension LastWordsBlock {
  fileprivate init(processID: Int32, line: String) {
    self.init(processID: processID)
    let (reportID, dump) = LastWordsReader.split(line)
    add("report", reportID)
    add("dump", dump)
    isWhole = true
    isLine = true
  }

  /// Adds a line; one that makes no sense, or that a newer version made up, is left out.
  fileprivate mutating func add(_ word: String, _ text: String) {
    let (first, rest) = LastWordsReader.split(text)
    switch word {
    case "product": product = Self.unescaped(text)
    case "version": version = Self.unescaped(text)
    case "signal": signal = text.split(separator: " ").map(String.init)
    case "message", "abort-message": messages.append(Self.unescaped(text))
    case "thread":
      threadID = first
      threadName = rest.isEmpty ? nil : Self.unescaped(rest)
    case "report": reportID = text
    case "dump":
      let (failure, path) = LastWordsReader.split(rest)
      dump = first
      dumpFailure = failure == "-" ? nil : failure
      dumpPath = Self.unescaped(path)
    case "module":
      let (buildID, path) = LastWordsReader.split(rest)
      guard let number = Int(first), let bytes = Self.bytes(ofHexadecimal: buildID) else { return }
      modules[number] = Module(buildID: bytes, path: Self.unescaped(path))
    case "frame":
      let (place, name) = LastWordsReader.split(rest)
      guard let number = Int(first), number >= 0, let frame = Self.frame(number, place, name)
      else { return }
      frames.append(frame)
    case "more-frames": hasMoreFrames = true
    default: return
    }
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
    let digits = Array(text.utf8)
    guard digits.count % 2 == 0, digits.count <= 128 else { return nil }
    var bytes: [UInt8] = []
    for index in stride(from: 0, to: digits.count, by: 2) {
      guard let byte = UInt8(String(decoding: digits[index...index + 1], as: UTF8.self), radix: 16)
      else { return nil }
      bytes.append(byte)
    }
    return bytes
  }

  /// Text as it was before the handler escaped it; what is no escape stays as it is.
  static func unescaped(_ text: String) -> String {
    let bytes = Array(text.utf8)
    var result: [UInt8] = []
    var index = 0
    while index < bytes.count {
      guard bytes[index] == UInt8(ascii: "\\"), index + 1 < bytes.count else {
        result.append(bytes[index])
        index += 1
        continue
      }
      switch bytes[index + 1] {
      case UInt8(ascii: "n"): result.append(0x0A)
      case UInt8(ascii: "r"): result.append(0x0D)
      case UInt8(ascii: "t"): result.append(0x09)
      case UInt8(ascii: "\\"): result.append(0x5C)
      case UInt8(ascii: "x"):
        let digits = bytes[(index + 2)...].prefix(2)
        if digits.count == 2, let byte = UInt8(String(decoding: digits, as: UTF8.self), radix: 16) {
          result.append(byte)
          index += 4
          continue
        }
        fallthrough
      default:
        result.append(bytes[index])
        index += 1
        continue
      }
      index += 2
    }
    return String(decoding: result, as: UTF8.self)
  }
}
