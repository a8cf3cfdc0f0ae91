internal import CrashReport
internal import FoundationEssentials
internal import Glibc
internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

/// The subcommand `postmortem symbolicate [FILE] [--symbols DIR]...`.
enum SymbolicateCommand: Subcommand {
  static let name = "symbolicate"
  static let summary = "name the functions in the crash summaries of a log"
  static let usage = ["[--symbols DIR]... [--no-symbols] [--json] [FILE|-]"]
  static let discussion = """
    Names the functions in the crash summaries of a log: FILE, or else standard input.

    Finds the lines `postmortem[PID]: ...` that a crash wrote to standard error, and prints each summary with the \
    cause, functions, lines and inlined calls, as postmortem show prints them for the dump. Any text may precede \
    each line or come between the lines; the text before a line distinguishes several containers. The log may also \
    be the JSON of Docker, Loki or a journal, or a container runtime's own files with their split lines. Searches \
    for each module at its own path, then in the --symbols directories, then on the debuginfod servers that \
    DEBUGINFOD_URLS names, and uses a file only if it is of the same build. If Swift's backtracer was on, the log \
    has one line with the report and its dump instead of a summary.

      docker logs web 2>&1 | postmortem symbolicate
    """
  static let options: [CommandOption] = [
    .symbols, CommandOption("--no-symbols", "do not read the modules' files"),
    .json(
      "print each summary as a JSON object on one line (schema: Docs/Reference/ReportSchema.json); values that "
        + "only a dump contains are null"
    ),
  ]
  static let operands = Operands(0...1, "FILE", completing: .file)
  static let closing = """
    A summary that contradicts itself is not shown; the command prints which of its lines contradict each other \
    instead. This happens, for example, if the lines of two containers' first processes are mixed and no text before \
    the lines distinguishes them.

    Exit status: 0; 1 if there is no summary, if a summary contradicts itself, or if JSON could not be read.
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
          try StandardOutput.print(symbolicator.report(of: summary).json())
        } else {
          try StandardOutput.print((count > 0 ? "\n" : "") + symbolicator.text(of: summary))
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
        "\(log.unreadable) lines of crash summaries were left out, because their JSON cannot be read; for "
          + "example, the lines were cut")
    }
    if contradictory > 0 {
      failures.append(
        "\(contradictory) of \(count) crash summaries contradict themselves and were left out: lines of "
          + "several processes with the same process ID are mixed, and no text before them distinguishes them"
      )
    }
    if count == 0 {
      failures.append("no crash summary: there is no line 'postmortem[PID]: crash-summary'")
    }
    guard failures.isEmpty else {
      throw ToolError(path: file ?? "standard input", failures.joined(separator: "; "))
    }
  }
}
