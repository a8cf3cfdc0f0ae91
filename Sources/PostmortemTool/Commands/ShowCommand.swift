internal import CrashReport
internal import CrashReportDatabase
internal import Foundation
internal import IntermediateDump

/// The subcommand `postmortem show [DIR] [ID]`, or of a file.
enum ShowCommand: Subcommand {
  static let name = "show"
  static let summary = "show a report: the cause, the place, and all stacks"
  static let help = """
    Shows a report: the cause, the place, and the stacks of all threads.

    Usage: postmortem show [DIR] [ID] [--symbols DIR]... [--source DIR]... [--text|--json|--html]
                           [--sanitize|--no-memory] [-o FILE] [--color WHEN] [--no-pager]
                           [--no-symbols] [--no-cache]
           postmortem show FILE|- [OPTION]...

    DIR is a database; POSTMORTEM_DATABASE in the environment stands for it. ID is a report ID as
    postmortem list prints it, or the beginning of one; without it the newest crash is shown, and where
    there is none the newest report of a hang or a requested dump, else of a run that ended without a dump.
    FILE is a minidump of any writer or an intermediate dump, - standard input with one of these. Functions and
    lines come from the modules' files on this machine and their split debug files, if they are the same
    builds as in the dump, or from the debuginfod servers that DEBUGINFOD_URLS names; else those of the
    crashing thread from what was stored at conversion.

      --database DIR  the same as DIR in front of ID
      --symbols DIR   look here too for files of the same builds: under any name in it, as
                      .build-id/xx/yyyy.debug or by their whole path; may be given more than once
      --source DIR    show the lines around the program's own calls from files in DIR, as they are now:
                      by the longest end of the path that debug information has; may be given more
                      than once
      --text          print the report as text, which is the default, as wide as the terminal is
      --color WHEN    colour text: always, never, or auto, which is the default: on a terminal, unless
                      NO_COLOR is set
      --no-pager      on a terminal, do not hand text to the program that PAGER names, or less
      --json          print the report as JSON (schema: Docs/ReportSchema.json)
      --html          print the report as one HTML page that needs nothing else
      --sanitize      leave out what may be a secret: memory but stacks, of stacks and registers all but
                      addresses and numbers below 4,096, vector registers, arguments, annotations,
                      breadcrumbs, thread names, messages that hold values
      --no-memory     the same, and stacks too; frames are there
      -o FILE         write it to FILE, which is replaced if it is there
      --no-symbols    do not read the modules' files
      --no-cache      neither use nor write what was found in these files before, which is in
                      postmortem/ of XDG_CACHE_HOME or ~/.cache, 64 MiB at most; nor does the command
                      where the variable POSTMORTEM_NO_SYMBOL_CACHE is set

    """

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(
      words,
      flags: [
        "--html", "--json", "--no-cache", "--no-memory", "--no-pager", "--no-symbols", "--sanitize",
        "--text",
      ],
      options: ["--color", "--database", "--source", "--symbols", "-o"], operands: 0...2, help: help
    )
    guard ["--html", "--json", "--text"].count(where: arguments.has) <= 1 else {
      throw ToolError.usage("only one of --html, --json and --text can be given", help: help)
    }
    let color = try color(arguments)
    let file = try file(arguments)
    let directories = arguments.values(of: "--symbols")
    let sources = arguments.values(of: "--source")
    for directory in directories + sources { try InputFile.requireDirectory(directory) }
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
    SourceFinder(directories: sources).add(to: &report)
    let output = try text(of: report, arguments, color: color)
    try file.checkReads()
    guard let path = arguments["-o"] else {
      let isText = !arguments.has("--json") && !arguments.has("--html")
      return isText && !arguments.has("--no-pager") ? Terminal.page(output) : Terminal.print(output)
    }
    try OutputFile.write(output, to: path)
  }

  private static func color(_ arguments: Arguments) throws -> Bool {
    switch arguments["--color"] ?? "auto" {
    case "always": return true
    case "never": return false
    case "auto": return arguments["-o"] == nil && Terminal.usesColor
    default: throw ToolError.usage("--color is always, never or auto", help: help)
    }
  }

  private static func text(
    of report: CrashReport, _ arguments: Arguments, color: Bool
  ) throws -> String {
    if arguments.has("--json") { return report.json(isIndented: true) }
    if arguments.has("--html") { return HTMLReport.text(of: report) }
    let isFile = arguments["-o"] != nil
    return TextReport.text(
      of: report, width: isFile ? Terminal.widthOfFiles : Terminal.width, color: color)
  }

  private static func file(_ arguments: Arguments) throws -> CrashFile {
    if arguments.operands == ["-"], arguments["--database"] == nil {
      return try CrashFile(DumpBytes(InputFile.standardInput()), named: "standard input")
    }
    return try CrashFile(at: try arguments.reportFile(help: help))
  }
}
