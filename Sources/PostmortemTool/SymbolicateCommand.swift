internal import CrashReport
internal import Foundation
internal import ProcessSnapshot
internal import Stackwalk

/// The subcommand `postmortem symbolicate [--symbols DIR]...`.
enum SymbolicateCommand: Subcommand {
  static let name = "symbolicate"
  static let summary = "name the functions in the summary of a crash, from a log"
  static let help = """
    Names the functions in the summary of a crash, from a log on standard input.

    Usage: postmortem symbolicate [--symbols DIR]...

    Finds the lines `postmortem[PID]: ...` that a crash left on standard error, whatever stands in
    front of each or between them, and shows every block with the names of its functions. Each module
    is looked for at its own path, then in the folders given, and used if it is the same build. Where
    Swift's backtracer was on there is one line, with the report and its dump, in place of a block.

      --symbols DIR  a folder with modules: as DIR/file, as DIR/its/whole/path/file, or as
                     DIR/.build-id/12/3456….debug; may be given more than once

    Example: docker logs web 2>&1 | postmortem symbolicate

    """

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(words, options: ["--symbols"], operands: 0...0, help: help)
    let folders = arguments.values(of: "--symbols")
    for folder in folders where !InputFile.isFolder(folder) {
      throw ToolError(path: folder, "no such folder")
    }
    // Paths of modules are absolute, and so are the files' in what is said about them.
    let symbolicator = LastWordsSymbolicator(
      source: SymbolSource(folders: folders.map { URL(fileURLWithPath: $0).path }))
    var reader = LastWordsReader()
    var lines = StandardInputLines()
    var count = 0
    func show(_ blocks: [LastWordsBlock]) {
      for block in blocks {
        Terminal.print((count > 0 ? "\n" : "") + symbolicator.text(of: block))
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

/// Shows blocks with the names of their functions.
struct LastWordsSymbolicator {
  let source: SymbolSource

  func text(of block: LastWordsBlock) -> String {
    if block.isLine {
      let line =
        "Process \(block.processID): Report \(block.reportID ?? ""): " + Self.text(ofDump: block)
      return line.escapedForMessage + "\n"
    }
    var lines: [String] = []
    let product = [block.product, block.version].compactMap { $0 }.joined(separator: " ")
    lines.append(
      "Process \(block.processID)" + (product.isEmpty ? "" : " (\(product))") + ": "
        + Self.text(ofSignal: block.signal))
    for message in block.messages { lines.append("Message: " + message) }
    lines.append("Thread \(block.threadID)" + (block.threadName.map { " \($0)" } ?? ""))
    if let id = block.reportID { lines.append("Report \(id): " + Self.text(ofDump: block)) }
    lines.append("")
    var notes: [Int: String] = [:]
    let entries = block.frames.map { frame in
      CandidateFrames.Entry(
        address: Address(frame.offset),
        module: frame.module.flatMap { block.modules[$0] }.map(Self.snapshot),
        evidence: frame.evidence, place: frame.place, savedPointer: frame.savedPointer)
    }
    let sorted = CandidateFrames(
      entries, architecture: block.architecture == "arm64" ? .arm64 : .x86_64, source: source)
    for (number, index) in sorted.kept.enumerated() {
      var frame = block.frames[index]
      frame.number = number
      let isOpen = sorted.undecided.contains(index)
      lines.append(text(of: frame, isUndecided: isOpen, in: block, notes: &notes))
    }
    if block.hasMoreFrames { lines.append("  ... and frames further out") }
    if !sorted.undecided.isEmpty {
      lines.append("? found by a scan of the stack; may be left over from an earlier call")
    }
    for (_, note) in notes.sorted(by: { $0.key < $1.key }) { lines.append(note) }
    if !block.isWhole { lines.append("(the log breaks off here)") }
    return lines.map { $0.escapedForMessage + "\n" }.joined()
  }

  private static func text(ofSignal words: [String]) -> String {
    guard words.count >= 2 else { return "unknown signal" }
    var text = words[1]
    if words.count >= 5, words[2] == "code" { text += " (\(words[4]))" }
    if words.count >= 7, words[5] == "address" { text += " at \(words[6])" }
    return text
  }

  private static func text(ofDump block: LastWordsBlock) -> String {
    let path = block.dumpPath ?? ""
    let failure = block.dumpFailure.map { " (\($0))" } ?? ""
    switch block.dump {
    case "complete": return "in " + path
    case "torn": return "cut off\(failure), in " + path
    case "none": return "could not be written\(failure) to " + path
    default: return "unknown"
    }
  }

  private func text(
    of frame: LastWordsBlock.Frame, isUndecided: Bool, in block: LastWordsBlock,
    notes: inout [Int: String]
  ) -> String {
    let number = "#\(frame.number)"
    let start =
      (isUndecided ? "? " : "  ") + number
      + String(repeating: " ", count: max(1, 4 - number.count))
    let offset = "0x" + String(frame.offset, radix: 16)
    guard let index = frame.module else { return start + offset }
    let place = (frame.moduleName.isEmpty ? "module \(index)" : frame.moduleName) + "+" + offset
    guard let module = block.modules[index] else { return start + place }
    let (symbol, note) = symbol(for: frame, in: module)
    if let note { notes[index] = note }
    guard let symbol else { return start + place }
    let distance = symbol.offset.map { " + \($0)" } ?? ""
    return start + "\(symbol.name)\(distance)  (\(place))"
  }

  /// The function; else why there is none.
  private func symbol(
    for frame: LastWordsBlock.Frame, in module: LastWordsBlock.Module
  ) -> (FrameSymbol?, note: String?) {
    let walked = StackFrame(
      address: Address(frame.offset), isReturnAddress: frame.number > 0, trust: .context)
    let whole = Self.snapshot(of: module)
    return (source.symbol(for: walked, in: whole), source.note(on: whole))
  }

  private static func snapshot(of module: LastWordsBlock.Module) -> ModuleSnapshot {
    let deleted = " (deleted)"
    let path =
      module.path.hasSuffix(deleted) ? String(module.path.dropLast(deleted.count)) : module.path
    return ModuleSnapshot(address: 0, size: .max, path: path, buildID: module.buildID)
  }
}

/// Standard input, line by line; of a line longer than 64 KiB only the beginning.
struct StandardInputLines {
  private static let maximumLength = 1 << 16
  private var buffer: [UInt8] = []
  private var position = 0
  private var isAtEnd = false

  /// The next line without its line feed; nil at the end.
  mutating func next() throws(ToolError) -> [UInt8]? {
    var line: [UInt8] = []
    while true {
      if let end = buffer[position...].firstIndex(of: 0x0A) {
        line += buffer[position..<end].prefix(Self.maximumLength - line.count)
        position = end + 1
        return line
      }
      line += buffer[position...].prefix(Self.maximumLength - line.count)
      position = buffer.count
      guard try fill() else { return line.isEmpty ? nil : line }
    }
  }

  private mutating func fill() throws(ToolError) -> Bool {
    guard !isAtEnd else { return false }
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    var count = -1
    repeat {
      count = unsafe bytes.withUnsafeMutableBytes { unsafe read(0, $0.baseAddress, $0.count) }
    } while count < 0 && errno == EINTR
    guard count >= 0 else {
      throw ToolError("standard input: " + (unsafe String(cString: strerror(errno))))
    }
    isAtEnd = count == 0
    bytes.removeLast(bytes.count - count)
    buffer = bytes
    position = 0
    return count > 0
  }
}
