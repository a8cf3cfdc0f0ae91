internal import IntermediateDump
package import Stackwalk

/// The summary of a crash that the handler wrote to standard error, read back from a log.
///
/// Source: Docs/Internals/CrashSummary.md, which describes the lines.
package struct LoggedSummary: Equatable {
  package struct Module: Equatable {
    /// The build ID; empty if the image has none.
    package var buildID: [UInt8]
    package var path: String
  }

  package struct Frame: Equatable {
    package var number: Int
    /// The number of the module in `modules`; nil for an address outside all modules.
    package var module: Int?
    /// The offset from the module's start, or the address itself if there is no module.
    package var offset: UInt64
    package var evidence: CandidateFrames.Entry.Evidence
    package var place: CandidateFrames.Entry.Place
    package var savedPointer: UInt64?
    /// The file name of the module, as in the frame's line.
    package var moduleName: String
    /// The number of frames of a recursion that the summary leaves out after this frame.
    ///
    /// The omitted frames repeat the last `foldedPeriod` listed frames, of which this frame is the innermost.
    package var foldedCount = 0
    package var foldedPeriod = 0
  }

  package struct Context: Equatable {
    package var name: String
    package var value: String
  }

  package var processID: Int32
  package var architecture = ""
  package var product: String?
  package var version: String?
  /// The words that follow `signal` in that line of the summary, for example `11 SIGSEGV code 1 SEGV_MAPERR address
  /// 0x10`.
  package var signal: [String] = []
  /// The messages that the Swift runtime set before it trapped, such as that of `fatalError`.
  package var messages: [String] = []
  /// The message of the C library.
  package var abortMessage: String?
  package var threadID = ""
  package var threadName: String?
  /// The values set by the `withContext` calls around the crashed code, outermost first.
  package var contexts: [Context] = []
  /// The name of the signal that had asked the process to end before the crash.
  package var termination: String?
  package var reportID: String?
  /// The state of the dump: "complete", "torn" (truncated) or "none".
  package var dump: String?
  /// The name or the number of the errno with which the dump failed; nil if nothing failed.
  package var dumpFailure: String?
  package var dumpPath: String?
  /// The modules, by the numbers that the summary gives them.
  package var modules: [Int: Module] = [:]
  package var frames: [Frame] = []
  package var hasMoreFrames = false
  /// True after the last line of the summary has been read.
  package var isWhole = false
  /// True if the summary is the line `crash-report`.
  ///
  /// If Swift's backtracer prints the crash, the handler writes this line and a few others, but no complete summary.
  package var isLine = false
  /// Descriptions of lines that repeat or contradict another line, or are out of order.
  ///
  /// Such lines can come from two processes with the same process ID, for example in two containers.
  package private(set) var contradictions: [String] = []
  package var isContradictory: Bool { !contradictions.isEmpty }
}

extension LoggedSummary {
  init(processID: Int32, line: String) {
    self.init(processID: processID)
    let (reportID, dump) = LoggedSummaryReader.split(line)
    add("report", reportID)
    add("dump", dump)
    isWhole = true
    isLine = true
  }

  /// Adds a line to the summary; ignores a damaged line, and a line with an unknown word.
  mutating func add(_ word: String, _ text: String) {
    let (first, rest) = LoggedSummaryReader.split(text)
    switch word {
    case "product":
      note(word, product, text)
      product = Self.unescaped(text)
    case "version":
      note(word, version, text)
      version = Self.unescaped(text)
    case "signal":
      note(word, signal.isEmpty ? nil : signal.joined(separator: " "), text)
      signal = text.split(separator: " ").map(String.init)
    case "message": messages.append(Self.unescaped(text))
    case "abort-message":
      note(word, abortMessage, text)
      abortMessage = Self.unescaped(text)
    case "thread":
      note(word, threadID.isEmpty ? nil : threadID, first)
      threadID = first
      threadName = rest.isEmpty ? nil : Self.unescaped(rest)
    case "report":
      note(word, reportID, text)
      reportID = text
    case "dump":
      note(word, dump.map { "\($0) \(dumpFailure ?? "-") \(dumpPath ?? "")" }, text)
      let (failure, path) = LoggedSummaryReader.split(rest)
      dump = first
      dumpFailure = failure == "-" ? nil : failure
      dumpPath = Self.unescaped(path)
    case "module":
      let (buildID, path) = LoggedSummaryReader.split(rest)
      guard let number = Int(first), let bytes = Self.bytes(ofHexadecimal: buildID) else { return }
      note("module \(number)", modules[number]?.path, path)
      modules[number] = Module(buildID: bytes, path: Self.unescaped(path))
    case "frame":
      let (place, name) = LoggedSummaryReader.split(rest)
      guard let number = Int(first), number >= 0, let frame = Self.frame(number, place, name)
      else { return }
      if let last = frames.last?.number, last >= number {
        contradictions.append("frame \(number) after frame \(last)")
      }
      // The line that names a frame's module must precede the frame.
      if let module = frame.module, modules[module] == nil {
        contradictions.append("frame \(number) in module \(module), which no line before it names")
      }
      frames.append(frame)
    case "context":
      guard let separator = text.firstRange(of: " = ") else { return }
      contexts.append(
        Context(
          name: Self.unescaped(String(text[..<separator.lowerBound])),
          value: Self.unescaped(String(text[separator.upperBound...]))))
    case "termination":
      note(word, termination, rest)
      termination = rest
    case "repeats":
      guard let count = Int(first), let period = Int(rest), 1...1 << 20 ~= count, 1...4 ~= period,
        frames.count >= period, frames[frames.count - 1].foldedCount == 0
      else { return }
      frames[frames.count - 1].foldedCount = count
      frames[frames.count - 1].foldedPeriod = period
    case "more-frames": hasMoreFrames = true
    default: return
    }
  }

  /// Records a contradiction if a line occurs a second time; a correct summary contains such a line only once.
  ///
  /// - Parameters:
  ///   - known: the text of the first such line; nil if this line is the first.
  ///   - text: the text of the current line.
  private mutating func note(_ word: String, _ known: String?, _ text: String) {
    guard let known else { return }
    let text = Self.unescaped(text)
    contradictions.append("\(word): \(known), " + (text == known ? "twice" : "then \(text)"))
  }

  /// Records a line that came after the last line of this summary, and so belongs to another process.
  mutating func noteStray(_ word: String) {
    contradictions.append("another line '\(word)' after its end")
  }

  /// Parses a frame's line: its number, its place and its name.
  ///
  /// Places are, for example, `3+0x12ab@0x40`, `3~0x12ab@0x40^0x20`, `3?0x12ab@lr` or `-+0x7f0012ab`.
  /// Docs/Internals/CrashSummary.md explains their parts.
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

  /// Parses a hexadecimal number such as `0x12ab`.
  private static func number(_ text: Substring) -> UInt64? {
    text.hasPrefix("0x") ? UInt64(text.dropFirst(2), radix: 16) : nil
  }

  private static func bytes(ofHexadecimal text: String) -> [UInt8]? {
    if text == "-" { return [] }
    return text.utf8.count <= 128 ? [UInt8](hexadecimal: text.utf8) : nil
  }

  /// Replaces the escapes that the handler writes, such as `\n` and `\x1B`, with the original characters; other text
  /// stays unchanged.
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
