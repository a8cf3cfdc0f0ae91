internal import CrashReport
internal import Foundation
internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

/// The subcommand `postmortem symbolicate [--symbols DIR]...`.
enum SymbolicateCommand: Subcommand {
  static let name = "symbolicate"
  static let summary = "name the functions in the summary of a crash, from a log"
  static let help = """
    Names the functions in the summary of a crash, from a log on standard input.

    Usage: postmortem symbolicate [--symbols DIR]...

    Finds the lines `postmortem[PID]: ...` that a crash wrote to standard error, with any text in front
    of each or between them, and prints every summary with the names of its functions. Looks for each
    module at its own path, then in the directories given, and uses it if it is the same build. Where
    Swift's backtracer was on there is one line, with the report and its dump, in place of a summary.

      --symbols DIR  a directory with modules: as DIR/file, as DIR/its/whole/path/file, or as
                     DIR/.build-id/12/3456….debug; may be given more than once

    Example: docker logs web 2>&1 | postmortem symbolicate

    """

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(words, options: ["--symbols"], operands: 0...0, help: help)
    let directories = arguments.values(of: "--symbols")
    for directory in directories { try InputFile.requireDirectory(directory) }
    // Notes name files by absolute paths, as modules have.
    let symbolicator = LoggedSummarySymbolicator(
      source: SymbolSource(directories: directories.map { URL(fileURLWithPath: $0).path }))
    var reader = LoggedSummaryReader()
    var lines = StandardInputLines()
    var count = 0
    func show(_ summaries: [LoggedSummary]) {
      for summary in summaries {
        Terminal.print((count > 0 ? "\n" : "") + symbolicator.text(of: summary))
        count += 1
      }
    }
    while let line = try lines.next() {
      reader.take(line)
      show(reader.takeFinished())
    }
    show(reader.finish())
    if count == 0 { throw ToolError("no crash summary on standard input") }
  }
}

/// Prints summaries with the names of their functions.
struct LoggedSummarySymbolicator {
  let source: SymbolSource

  func text(of summary: LoggedSummary) -> String {
    if summary.isLine {
      let line =
        "Process \(summary.processID): Report \(summary.reportID ?? ""): "
        + Self.text(ofDump: summary)
      return line.escapedForMessage + "\n"
    }
    var lines: [String] = []
    let product = [summary.product, summary.version].compactMap { $0 }.joined(separator: " ")
    lines.append(
      "Process \(summary.processID)" + (product.isEmpty ? "" : " (\(product))") + ": "
        + Self.text(ofSignal: summary.signal))
    for message in summary.messages { lines.append("Message: " + message) }
    lines.append("Thread \(summary.threadID)" + (summary.threadName.map { " \($0)" } ?? ""))
    if let id = summary.reportID { lines.append("Report \(id): " + Self.text(ofDump: summary)) }
    lines.append("")
    var notes: [Int: String] = [:]
    let entries = summary.frames.map { frame in
      CandidateFrames.Entry(
        address: Address(frame.offset),
        module: frame.module.flatMap { summary.modules[$0] }.map(Self.snapshot),
        evidence: frame.evidence, place: frame.place, savedPointer: frame.savedPointer)
    }
    let sorted = CandidateFrames(
      entries, architecture: summary.architecture == "arm64" ? .arm64 : .x86_64, source: source)
    for (number, index) in sorted.kept.enumerated() {
      var frame = summary.frames[index]
      frame.number = number
      let isOpen = sorted.undecided.contains(index)
      lines.append(text(of: frame, isUndecided: isOpen, in: summary, notes: &notes))
    }
    if summary.hasMoreFrames { lines.append("  ... and frames further out") }
    if !sorted.undecided.isEmpty {
      lines.append("? found by a scan of the stack; may be left over from an earlier call")
    }
    for (_, note) in notes.sorted(by: { $0.key < $1.key }) { lines.append(note) }
    if !summary.isWhole { lines.append("(the log breaks off here)") }
    return lines.map { $0.escapedForMessage + "\n" }.joined()
  }

  private static func text(ofSignal words: [String]) -> String {
    guard words.count >= 2 else { return "unknown signal" }
    var text = words[1]
    if words.count >= 5, words[2] == "code" { text += " (\(words[4]))" }
    if words.count >= 7, words[5] == "address" { text += " at \(words[6])" }
    return text
  }

  private static func text(ofDump summary: LoggedSummary) -> String {
    let path = summary.dumpPath ?? ""
    let failure = summary.dumpFailure.map { " (\($0))" } ?? ""
    switch summary.dump {
    case "complete": return "in " + path
    case "torn": return "cut off\(failure), in " + path
    case "none": return "could not be written\(failure) to " + path
    default: return "unknown"
    }
  }

  private func text(
    of frame: LoggedSummary.Frame, isUndecided: Bool, in summary: LoggedSummary,
    notes: inout [Int: String]
  ) -> String {
    let number = "#\(frame.number)"
    let start =
      (isUndecided ? "? " : "  ") + number
      + String(repeating: " ", count: max(1, 4 - number.count))
    let offset = "0x" + frame.offset.hexadecimal()
    guard let index = frame.module else { return start + offset }
    let place = (frame.moduleName.isEmpty ? "module \(index)" : frame.moduleName) + "+" + offset
    guard let module = summary.modules[index] else { return start + place }
    let (symbol, note) = symbol(for: frame, in: module)
    if let note { notes[index] = note }
    guard let symbol else { return start + place }
    let distance = symbol.offset.map { " + \($0)" } ?? ""
    return start + "\(symbol.name)\(distance)  (\(place))"
  }

  /// The function; else why there is none.
  private func symbol(
    for frame: LoggedSummary.Frame, in module: LoggedSummary.Module
  ) -> (FrameSymbol?, note: String?) {
    let walked = StackFrame(
      address: Address(frame.offset), isReturnAddress: frame.number > 0, trust: .context)
    let whole = Self.snapshot(of: module)
    return (source.symbol(for: walked, in: whole), source.note(on: whole))
  }

  private static func snapshot(of module: LoggedSummary.Module) -> ModuleSnapshot {
    let deleted = " (deleted)"
    let path =
      module.path.hasSuffix(deleted) ? String(module.path.dropLast(deleted.count)) : module.path
    return ModuleSnapshot(address: 0, size: .max, path: path, buildID: module.buildID)
  }
}
