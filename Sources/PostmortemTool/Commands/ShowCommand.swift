internal import CrashAnalysis
internal import CrashReport
internal import CrashReportDatabase
internal import Glibc
internal import IntermediateDump

/// The subcommand `postmortem show [ID|PID|PROGRAM|FILE]`.
enum ShowCommand: Subcommand {
  static let name = "show"
  static let aliases = ["info"]
  static let summary = "show a report: the cause, the location and all stacks"
  static let usage = [
    "[OPTION...] [ID|PID|PROGRAM|latest]", "[OPTION...] DIR/ [ID|PID|PROGRAM]",
    "[OPTION...] FILE|-",
  ]
  static let discussion = """
    Shows a report: the cause, the location, and the stacks of all threads.

    Without an argument, shows the newest crash; if there is none, the newest hang or requested dump; else the \
    newest run that ended without a dump. ID is a report ID as postmortem list prints it, or the beginning of one. \
    PID or PROGRAM selects the newest crash of that process or program. If the newest crash is not a report yet, the \
    command converts its dump in memory, shows it, and prints a line about this on standard error; it does not \
    change the database.

    FILE is a minidump of any writer, an intermediate dump or a core file; the core file may be compressed with \
    zstd, lz4, xz, gzip or bzip2 if the program for it is installed. Use - to read one of these from standard input. \
    A core file contains no time, and no thread name except the first thread's; it contains the host only if the program \
    used the handler. Functions and lines come from the modules' files on this machine and their split debug files, \
    if these are of the same builds as in the dump, or from the debuginfod servers that DEBUGINFOD_URLS names. \
    Otherwise those of the crashing thread come from what was stored at conversion.
    """
  static let options: [CommandOption] = [
    .databaseToRead, .program, .processID,
    CommandOption(
      "--text", "print the report as text, as wide as the terminal (default)"),
    CommandOption(
      "--full",
      "print text with all details: addresses of all frames, bytes at registers, evidence that the head already "
        + "shows, build IDs of system libraries, all breadcrumbs, long values in full"),
    .json("print the report as JSON (schema: Docs/Reference/ReportSchema.json)"),
    CommandOption("--html", "print the report as one self-contained HTML page"),
    .output, .color,
    .symbols,
    CommandOption(
      "--source", value: "DIR", completing: .directory,
      "show the source lines around the program's own calls, from the current files in DIR. A file is found by "
        + "the longest matching end of its path in the debug information; may be given more than once"
    ),
    .sanitize, .noMemory, .spool,
    CommandOption("--no-symbols", "do not read the modules' files"),
    CommandOption(
      "--no-cache",
      "neither read nor write the cache of what was found in these files (at most 64 MiB, in postmortem/ of "
        + "XDG_CACHE_HOME or ~/.cache); POSTMORTEM_NO_SYMBOL_CACHE in the environment does the same"
    ),
    .quiet,
  ]
  static let operands = Operands(0...2, "ID", completing: .report)

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(words, of: self)
    guard ["--html", "--json", "--text"].count(where: arguments.has) <= 1 else {
      throw arguments.usage("only one of --html, --json and --text can be given")
    }
    let color = try arguments.usesColor()
    let (file, found) = try file(arguments)
    let directories = try arguments.symbolDirectories()
    let sources = arguments.values(of: "--source")
    for directory in sources { try InputFile.requireDirectory(directory) }
    func makeReport(_ directories: [String]) -> CrashReport {
      CrashReport(
        snapshot: file.snapshot, privacy: arguments.privacy,
        symbolicating: !arguments.has("--no-symbols"), symbolDirectories: directories,
        symbolStore: arguments.has("--no-cache") ? nil : SymbolCacheDirectory())
    }
    var report = makeReport(directories)
    if !arguments.has("--no-symbols"), let servers = DebugFileServers(), servers.fetch(for: report)
    {
      report = makeReport(directories + [servers.directory])
    }
    if arguments.privacy == .full, !arguments.has("--no-symbols") { found?.keepFacts(of: report) }
    SourceFinder(directories: sources).add(to: &report)
    let output = try text(of: report, arguments, color: color)
    try file.checkReads()
    guard let path = arguments["--output"] else {
      let isText = !arguments.has("--json") && !arguments.has("--html")
      guard isText, !arguments.has("--no-pager") else { return try StandardOutput.print(output) }
      return try Pager.show(output)
    }
    try OutputFile.write(output, to: path)
  }

  private static func text(
    of report: CrashReport, _ arguments: Arguments, color: Bool
  ) throws -> String {
    if arguments.has("--json") { return report.json(isIndented: true) }
    if arguments.has("--html") { return HTMLReport.text(of: report) }
    let isFile = arguments["--output"] != nil
    return TextReport.text(
      of: report, isFull: arguments.has("--full"),
      width: isFile ? Terminal.widthOfFiles : Terminal.width, color: color,
      isForTerminal: !isFile && Terminal.isOutput)
  }

  private static func file(
    _ arguments: Arguments
  ) throws -> (file: CrashFile, found: ShownFile?) {
    if arguments.operands == ["-"], arguments["--database"] == nil {
      let core = arguments.coreSource
      return (
        try CrashFile(InputFile.standardInput(core), named: "standard input", core), nil
      )
    }
    return try ShownFile.read(arguments)
  }
}
