internal import CrashConverter

/// The subcommand `postmortem process DIR`.
enum ProcessCommand: Subcommand {
  static let name = "process"
  static let summary = "turn the dumps that crashed processes left in a database into reports"
  static let help = """
    Turns the dumps that crashed processes left in a database into minidumps.

    Usage: postmortem process DIR

    DIR is the folder that was given to startHandler(database:). Prints one line for each dump. A dump
    that fails is kept and tried again the next time. A program does the same for itself with
    processIntermediateDumps(); this command is for programs that do not.

    """

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(words, operands: 1...1, help: help)
    let path = arguments.operands[0]
    guard InputFile.isFolder(path) else { throw ToolError(path: path, "no such folder") }
    let processed = try processIntermediateDumps(database: path)
    for dump in processed { Terminal.print(dump.description + "\n") }
    let failures = processed.count { dump in
      switch dump.outcome {
      case .failed, .quarantined: true
      case .complete, .torn: false
      }
    }
    guard failures == 0 else {
      throw ToolError(path: path, "\(failures) of \(processed.count) dumps could not be processed")
    }
  }
}
