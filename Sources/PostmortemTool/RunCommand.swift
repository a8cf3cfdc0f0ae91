internal import CrashConverter
internal import Foundation

/// The subcommand `postmortem run -- COMMAND`.
enum RunCommand: Subcommand {
  static let name = "run"
  static let summary = "run a program, end as it ends, and process its dumps afterwards"
  static let help = """
    Runs a program, ends as it ends, and processes what its crash left behind.

    Usage: postmortem run [--database DIR] -- COMMAND [ARGUMENT...]

    For programs that crash and are not started again soon, and as the entry point of a container. The
    program is not changed and not traced: it has this command's terminal, descriptors, environment and
    process group. Signals that are sent to this command are passed on; those that the terminal sends to
    all of its foreground processes (Ctrl-C) reach the program once, from the terminal. As the first
    process of a container it also collects orphans.

      --database DIR  the folder that the program gives to startHandler(database:); its dumps, and
                      those of other programs there, become reports when the program has ended, one
                      line each on standard error

    Exit status: the program's; if a signal killed it, this command ends by the same signal (without a
    core file of its own), or as the first process of a container with 128 plus the signal's number. 126
    if the program cannot be executed, 127 if it is not found, 64 for wrong usage. What happens to the
    dumps changes nothing about it.

    """

  static func run(_ words: [String]) throws {
    guard let separator = words.firstIndex(of: "--") else {
      throw UsageError("'--' and a command behind it are missing", help: help)
    }
    let arguments = try Arguments(
      Array(words[..<separator]), options: ["--database"], operands: 0...0, help: help)
    let count = words.count - separator - 1
    guard count > 0 else { throw UsageError("a command is missing behind '--'", help: help) }
    let end = try SupervisedCommand.run(lastArguments: count)
    if let database = arguments["--database"] { process(database) }
    end.repeatForThisProcess()
  }

  /// Errors are told and change nothing: the status belongs to the program.
  private static func process(_ database: String) {
    guard InputFile.isFolder(database) else {
      // No handler was ever started with it, and then there is nothing to do.
      if InputFile.exists(database) {
        Terminal.printError(
          ToolError(path: database, "not a folder; no dump was processed").description)
      }
      return
    }
    do {
      let progress = ProgressLine("processing dumps:")
      let processed = try processIntermediateDumps(database: database, progress: progress.update)
      progress.clear()
      for dump in processed { Terminal.printError(dump.description) }
    } catch {
      Terminal.printError(error.description)
    }
  }
}
