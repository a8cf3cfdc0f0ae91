internal import CrashReport
internal import Foundation
internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

/// The subcommand `postmortem symbolicate [FILE] [--symbols DIR]...`.
enum SymbolicateCommand: Subcommand {
  static let name = "symbolicate"
  static let summary = "name the functions in a crash summary, from a log"
  static let usage = ["[--symbols DIR]... [--no-symbols] [--json] [FILE|-]"]
  static let discussion = """
    Names the functions in the summary of a crash, from a log in FILE, else on standard input.

    Finds the lines `postmortem[PID]: ...` that a crash wrote to standard error, with any text before each or \
    between them, which distinguishes the lines of several containers, and in the JSON of Docker, Loki or a journal \
    or the cut lines of a container runtime's own files; and prints every summary with cause, functions, lines and \
    inlined calls, as postmortem show has them of the dump. Looks for each module at its own path, then in the \
    directories given, then asks the debuginfod servers that DEBUGINFOD_URLS names, and uses a file if it is of \
    the same build. Where Swift's backtracer was on there is one line, with the report and its dump, in place of a \
    summary.

      docker logs web 2>&1 | postmortem symbolicate
    """
  static let options: [CommandOption] = [
    .symbols, CommandOption("--no-symbols", "do not read the modules' files"),
    .json(
      "print each as a JSON object on one line (schema: Docs/Reference/ReportSchema.json); what only a dump knows is null"
    ),
  ]
  static let operands = Operands(0...1, "FILE", completing: .file)
  static let closing = """
    A summary that contradicts itself is not shown: its place says which lines contradict which.

    Exit status: 0; 1 if there is no summary, if one contradicts itself, as where lines of two containers' first \
    processes are mixed and nothing before them distinguishes them, or if JSON could not be read.
    """

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(words, of: self)
    let file = arguments.operands.first.flatMap { $0 == "-" ? nil : $0 }
    if let file { try InputFile.becomeStandardInput(file) }
    let directories = arguments.values(of: "--symbols")
    for directory in directories { try InputFile.requireDirectory(directory) }
    let servers = arguments.has("--no-symbols") ? nil : DebugFileServers()
    let symbolicator = LoggedSummarySymbolicator(
      // The paths of the directories are made absolute, because notes in the output name files by absolute paths.
      directories: directories.map { URL(fileURLWithPath: $0).path },
      readsFiles: !arguments.has("--no-symbols"),
      download: { servers?.fetch(for: $0) == true ? servers?.directory : nil })
    var reader = LoggedSummaryReader()
    var lines = StandardInputLines()
    var (count, contradictory) = (0, 0)
    func show(_ summaries: [LoggedSummary]) throws {
      for summary in summaries {
        if arguments.has("--json") {
          Terminal.print(symbolicator.report(of: summary).json())
        } else {
          Terminal.print((count > 0 ? "\n" : "") + symbolicator.text(of: summary))
        }
        count += 1
        if summary.isContradictory { contradictory += 1 }
      }
    }
    var log = LogLines()
    while let line = try lines.next() {
      for line in log.take(line) { reader.take(line.bytes, from: line.source) }
      try show(reader.takeFinished())
    }
    for line in log.finish() { reader.take(line.bytes, from: line.source) }
    try show(reader.finish())
    var failures: [String] = []
    if log.unreadable > 0 {
      failures.append(
        "\(log.unreadable) lines of crash summaries are in JSON that cannot be read, as of lines that were "
          + "cut, and were left out")
    }
    if contradictory > 0 {
      failures.append(
        "\(contradictory) of \(count) crash summaries contradict themselves and were left out: lines of "
          + "several processes are mixed under one process ID, and nothing in front tells them apart"
      )
    }
    if count == 0 {
      failures.append("no crash summary: it has no lines 'postmortem[PID]: crash-summary'")
    }
    guard failures.isEmpty else {
      throw ToolError(path: file ?? "standard input", failures.joined(separator: "; "))
    }
  }
}
