internal import CrashReport
internal import CrashReportDatabase
internal import Foundation

/// One word that `postmortem` understands.
protocol Subcommand: SendableMetatype {
  static var name: String { get }
  /// One line for the list of subcommands.
  static var summary: String { get }
  /// The output of `--help`, ending in a line feed.
  static var help: String { get }

  /// Runs it with the words behind the subcommand's name.
  static func run(_ words: [String]) throws
}

/// The `postmortem` command: one subcommand, its arguments, and an exit status of 0, 1, 2 or 64;
/// `run` ends as its command does.
@main
struct PostmortemTool {
  static let version = PackageVersion.version

  static let subcommands: [any Subcommand.Type] = [
    DemoCommand.self, RunCommand.self, ProcessCommand.self, WatchCommand.self, ListCommand.self,
    ShowCommand.self, StatsCommand.self, ExportCommand.self, PruneCommand.self, DeleteCommand.self,
    InspectCommand.self, SymbolicateCommand.self, SymbolsCommand.self, DebugCommand.self,
    DoctorCommand.self, CaptureCommand.self, UploadCommand.self, CompletionCommand.self,
    ManualCommand.self,
  ]

  static func main() {
    exit(run(Array(CommandLine.arguments.dropFirst())))
  }

  /// Runs a command line and returns the exit status.
  static func run(_ words: [String]) -> Int32 {
    let failure: ToolError
    do {
      try dispatch(words)
      return 0
    } catch let error as ToolError {
      failure = error
    } catch {
      failure = ToolError(String(describing: error))
    }
    if !failure.description.isEmpty {
      if words.prefix(while: { $0 != "--" }).contains("--json") {
        Terminal.printProgress(failure.json)
      } else {
        Terminal.printError(failure.description)
      }
    }
    return failure.exitStatus
  }

  private static func dispatch(_ words: [String]) throws {
    guard let name = words.first else {
      throw ToolError.usage("a subcommand is missing", help: help)
    }
    let rest = try sharing(Array(words.dropFirst()))
    switch name {
    case "--help", "-h": return Terminal.print(help)
    case "help":
      if rest.count > 1 {
        throw ToolError.usage(
          "'\(rest[1].escapedForMessage)' is one argument too many", help: help)
      }
      return Terminal.print(try rest.first.map { try subcommand($0).help } ?? help)
    case "--version", "-V": return Terminal.print("postmortem \(version)\n")
    case DemoVictim.name: return try DemoVictim.run(rest)
    case ReportReader.Worker.name: return try ReportReader.Worker.run(rest)
    default: break
    }
    let command = try subcommand(name)
    if rest.prefix(while: { $0 != "--" }).contains(where: { $0 == "--help" || $0 == "-h" }) {
      return Terminal.print(command.help)
    }
    try command.run(rest)
  }

  static func subcommand(_ name: String) throws(ToolError) -> any Subcommand.Type {
    if let command = subcommands.first(where: { $0.name == name }) { return command }
    let known = subcommands.map { $0.name } + ["help", "--help", "--version"]
    let hint =
      ["-v", "version"].contains(name)
      ? "; did you mean '--version'?" : Suggestion.text(for: name, among: known)
    throw ToolError.usage("there is no subcommand '\(name.escapedForMessage)'\(hint)", help: help)
  }

  /// Takes the option of every subcommand off the words in front of `--`.
  private static func sharing(_ words: [String]) throws -> [String] {
    let own = words.prefix { $0 != "--" }
    guard let index = own.firstIndex(where: { $0 == "--shared-with" }) else { return words }
    guard index + 1 < own.endIndex else {
      throw ToolError.usage("--shared-with needs a value", help: help)
    }
    try CrashReportDatabase.share(with: words[index + 1])
    return Array(words[..<index] + words[(index + 2)...])
  }

  static var help: String {
    let width = subcommands.map { $0.name.count }.max() ?? 0
    let lines = subcommands.map { "  \($0.name.padded(to: width))  \($0.summary)" }
    return """
      Reads what crashed processes left behind.

      Usage: postmortem SUBCOMMAND [ARGUMENTS]

      \(lines.joined(separator: "\n"))

      postmortem help SUBCOMMAND says more. postmortem --version prints the version. The variable
      POSTMORTEM_DATABASE in the environment stands for the database that a subcommand needs.
      Any of them takes --shared-with GROUP, for a database to which the members of that group may
      write (HandlerOptions.sharedGroup). With --json an error is a JSON object too, on one line of
      standard error, with error and exitStatus.
      Exit status: 0 done, 1 failed, 2 done but for dumps that are left for later, 64 wrong usage;
      postmortem run ends as its command does.

      """
  }
}
