internal import CrashAnalysis
internal import CrashReport
internal import FoundationEssentials
internal import Glibc
internal import IntermediateDump
internal import ProcessSnapshot

/// The subcommand `postmortem symbolicate [FILE] [--symbols DIR]...`.
enum SymbolicateCommand: Subcommand {
  static let name = "symbolicate"
  static let summary = "show reports of the crashes in a log"
  static let usage = ["[--symbols DIR]... [--no-symbols] [--json] [FILE|-]"]
  static let discussion = """
    Shows a report of each crash in a log: FILE, or else standard input.

    Finds the pieces `postmortem-log-...` that a crash wrote to standard error, and prints what postmortem show \
    prints for a dump, as far as the pieces contain it. The pieces may be anywhere in any text, in any order and more \
    than once, and of several processes. Searches for each module at its own path, then in the --symbols \
    directories, then on the debuginfod servers that DEBUGINFOD_URLS names, and uses a file only if it is of the same \
    build.

      docker logs web 2>&1 | postmortem symbolicate
    """
  static let options: [CommandOption] = [
    .symbols, CommandOption("--no-symbols", "do not read the modules' files"),
    .json(
      "print each report as a JSON object on one line (schema: Docs/Reference/ReportSchema.json); values that only "
        + "a whole dump contains are null"
    ),
  ]
  static let operands = Operands(0...1, "FILE", completing: .file)
  static let closing = """
    If pieces are missing or damaged, for example because a program cut the lines, the report contains what the \
    pieces before the first of them contain, and names the missing and damaged ones by their numbers.

    Exit status: 0; 1 if there is no whole piece.
    """

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(words, of: self)
    let file = arguments.operands.first.flatMap { $0 == "-" ? nil : $0 }
    if let file { try InputFile.becomeStandardInput(file) }
    let directories = arguments.values(of: "--symbols")
    for directory in directories { try InputFile.requireDirectory(directory) }
    let name = file ?? "standard input"
    var reader = LoggedDumpReader()
    var count = 0
    func show(_ dumps: [LoggedDump]) throws(ToolError) {
      for dump in dumps {
        let report = try report(of: dump, arguments)
        if arguments.has("--json") {
          try StandardOutput.print(report.json())
        } else {
          try StandardOutput.print(
            (count > 0 ? "\n" : "")
              + TextReport.text(
                of: report, width: Terminal.width, color: Terminal.usesColor,
                isForTerminal: Terminal.isOutput))
        }
        if let gaps = dump.gaps { arguments.warn("report \(dump.reportDigits): \(gaps)") }
        count += 1
      }
    }
    try InputFile.forEachPiece(of: 0, named: name) { (piece) throws(ToolError) in
      reader.take(piece)
      try show(reader.takeFinished())
    }
    let (rest, strayCount) = reader.finish()
    try show(rest)
    let stray =
      strayCount == 0
      ? nil
      : "pieces that are cut, changed or of another version, and of unknown reports: \(strayCount)"
    guard count > 0 else {
      throw ToolError(
        path: name,
        "no crash: there is no whole 'postmortem-log-...'" + (stray.map { "; \($0)" } ?? ""))
    }
    if let stray { arguments.warn("\(name.escapedForMessage): \(stray)") }
  }

  private static func report(
    of dump: LoggedDump, _ arguments: Arguments
  ) throws(ToolError) -> CrashReport {
    var snapshot = try CrashFile(DumpBytes(dump.bytes), named: "report \(dump.reportDigits)")
      .snapshot
    snapshot.capture.damage = "it is from a log" + (dump.gaps.map { "; \($0)" } ?? "")
    func makeReport(_ directories: [String]) -> CrashReport {
      CrashReport(
        snapshot: snapshot, symbolicating: !arguments.has("--no-symbols"),
        symbolDirectories: directories)
    }
    // The paths of the directories are made absolute, because notes in the output name files by absolute paths.
    let directories = arguments.values(of: "--symbols").map { URL(fileURLWithPath: $0).path }
    let report = makeReport(directories)
    guard !arguments.has("--no-symbols"), let servers = DebugFileServers(),
      servers.fetch(for: report)
    else { return report }
    return makeReport(directories + [servers.directory])
  }
}

extension LoggedDump {
  /// The numbers of the missing and the damaged pieces as text; nil if there are none.
  fileprivate var gaps: String? {
    let gaps = [("missing", missing), ("damaged", damaged.sorted())].filter { !$0.1.isEmpty }
    guard !gaps.isEmpty else { return nil }
    return "of \(count) pieces, "
      + gaps.map { word, numbers in
        (numbers.count == 1 ? "number " : "numbers ")
          + numbers.map(String.init).joined(separator: ", ")
          + (numbers.count == 1 ? " is " : " are ") + word
      }.joined(separator: ", ")
  }
}
