internal import CrashAnalysis
internal import CrashReport
internal import Glibc

/// The `postmortem` command takes one subcommand with its arguments.
///
/// The command exits with status 0, 1, 2 or 64; Docs/Reference/CommandLine.md describes them. `run` ends in the same
/// way as the program that it runs, or exits with status 126 or 127 if the program could not be started.
@main
struct PostmortemTool {
  static let version = PackageVersion.version

  /// The subcommands, grouped by purpose, in the order in which help lists them.
  static let groups: [(title: String, subcommands: [any Subcommand.Type])] = [
    ("Read reports", [ListCommand.self, ShowCommand.self, DebugCommand.self, StatsCommand.self]),
    (
      "Create reports",
      [ProcessCommand.self, WatchCommand.self, RunCommand.self, CaptureCommand.self]
    ),
    ("Delete and upload", [DeleteCommand.self, PruneCommand.self, UploadCommand.self]),
    ("Across databases", [DashboardCommand.self, ExportCommand.self]),
    ("Symbols and logs", [SymbolsCommand.self, SymbolicateCommand.self, InspectCommand.self]),
    (
      "Help",
      [DoctorCommand.self, DemoCommand.self, CompletionCommand.self, ManualCommand.self]
    ),
  ]

  static let subcommands = groups.flatMap(\.subcommands)

  static func main() {
    Terminal.reserveDescriptors()
    exit(run(Array(CommandLine.arguments.dropFirst())))
  }

  /// Runs a command line and returns the exit status.
  static func run(_ words: [String]) -> Int32 {
    var failures: [ToolError] = []
    do {
      try dispatch(words)
    } catch let error as ToolError {
      failures.append(error)
    } catch {
      failures.append(ToolError(String(describing: error)))
    }
    if let lost = StandardOutput.finish(), lost != failures.last { failures.append(lost) }
    let isJSON = words.prefix(while: { $0 != "--" }).contains("--json")
    for failure in failures where !failure.description.isEmpty {
      if isJSON {
        Terminal.printProgress(failure.json)
      } else {
        Terminal.printError(failure.description)
      }
    }
    return failures.last?.exitStatus ?? 0
  }

  private static func dispatch(_ words: [String]) throws {
    let (name, rest) = try leading(words)
    guard let name else {
      throw ToolError.usage("missing subcommand", help: help, printsHelp: true)
    }
    switch name {
    case "--help", "-h": return try Pager.show(help)
    case "help":
      if rest.count > 1 {
        throw ToolError.usage("unexpected argument '\(rest[1].escapedForMessage)'", help: help)
      }
      return try Pager.show(rest.first.map { try subcommand($0).help } ?? help)
    case "--version", "-V", "-v", "version":
      return try StandardOutput.print("postmortem \(version)\n")
    case DemoVictim.name: return try DemoVictim.run(rest)
    case ReportReader.Worker.name: return try ReportReader.Worker.run(rest)
    case Completer.name: return try Completer.run(rest)
    default: break
    }
    let command = try subcommand(name)
    if command.wantsHelp(rest) { return try Pager.show(command.help) }
    try command.run(rest)
  }

  /// Separates the subcommand's name from the other words, and moves general options from before the name to after
  /// it.
  private static func leading(_ words: [String]) throws -> (name: String?, words: [String]) {
    var rest = words[...]
    var moved: [String] = []
    while let word = rest.first {
      if ["-d", "--database", "--shared-with"].contains(word) {
        guard rest.count > 1 else { throw ToolError.usage("\(word) needs a value", help: help) }
        moved += rest.prefix(2)
        rest = rest.dropFirst(2)
      } else if word.hasPrefix("--database=")
        || ["-q", "--quiet", "--json", "--no-pager"].contains(word)
      {
        moved.append(word)
        rest = rest.dropFirst()
      } else {
        break
      }
    }
    return (rest.first, moved + rest.dropFirst())
  }

  static func subcommand(_ name: String) throws(ToolError) -> any Subcommand.Type {
    let found = subcommands.first { $0.name == name || $0.aliases.contains(name) }
    if let found { return found }
    let known = subcommands.map { $0.name } + ["help", "--help", "--version"]
    let hint = Suggestion.subcommand(name) ?? Suggestion.text(for: name, among: known)
    let kind = name.hasPrefix("-") ? "option" : "subcommand"
    throw ToolError.usage("unknown \(kind) '\(name.escapedForMessage)'\(hint)", help: help)
  }

  private static var aliases: String {
    subcommands.flatMap { command in command.aliases.map { "\($0) (\(command.name))" } }
      .joined(separator: ", ")
  }

  static var help: String {
    let width = subcommands.map { $0.name.count }.max() ?? 0
    let lines = groups.map { group in
      group.title + ":\n"
        + group.subcommands.map { "  \($0.name.padded(to: width))  \($0.summary)\n" }.joined()
    }
    let parts = [
      "Creates, shows and uploads the reports of crashed processes.\n",
      "Usage: postmortem [-d DIR] SUBCOMMAND [OPTION...] [ARGUMENT...]\n",
    ]
    let end = """
      The database is the directory that the program passes to startHandler(database:). Name it with -d DIR, with the \
      variable POSTMORTEM_DATABASE, or as an argument that contains a slash. Commands that only read also find one in \
      /var/lib/postmortem or in postmortem/ of XDG_STATE_HOME or ~/.local/state, and print its path on standard error.

        postmortem list               list the crashes
        postmortem show               show the newest crash, or an ID, PID or PROGRAM
        postmortem help SUBCOMMAND    describe a subcommand

      Aliases: \(aliases). Each subcommand accepts --no-pager, and --shared-with GROUP for a \
      database that the members of GROUP may write to (HandlerOptions.sharedGroup). With --json, an error is printed as a JSON \
      object too: one line on standard error, with error and exitStatus.

      Exit status: 0 success; 1 failure; 2 success, except for what was left for later or could not be read; 64 usage \
      error. postmortem run exits as its command does.
      """
    return (parts + lines + [HelpText.paragraphs(end)]).joined(separator: "\n")
  }
}

extension Subcommand {
  /// True if the words ask for this subcommand's help; words of another program's command line do not count.
  fileprivate static func wantsHelp(_ words: [String]) -> Bool {
    var rest = words[...]
    while let word = rest.popFirst(), word != "--" {
      if word == "--help" || word == "-h" { return true }
      guard operands.isCommand else { continue }
      if !word.hasPrefix("-") { return false }
      let option = (options + CommandOption.shared).first { $0.names.contains(word) }
      if option?.value != nil { rest = rest.dropFirst() }
    }
    return false
  }
}
