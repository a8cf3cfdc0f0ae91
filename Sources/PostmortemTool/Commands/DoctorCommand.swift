/// The subcommand `postmortem doctor PID|PROGRAM`.
enum DoctorCommand: Subcommand {
  static let name = "doctor"
  static let aliases = ["status"]
  static let summary = "check whether a crash of a running process would be captured"
  static let usage = ["[--json] [PID|PROGRAM]", "[--json] -d DIR"]
  static let discussion = """
    Checks whether a crash of a running process would be captured. Prints the answer first, then the problems, then \
    notes.

    PROGRAM selects the only process of that name. Without an argument, the command lists the processes with a crash \
    handler that this user can examine; with -d, only those of one database.

    Examines the process from outside, in /proc: whether it holds the locked file, FIFO and directory of a crash \
    handler, whether it catches the signals that its run record names, and whether a thread blocks the signals that \
    an instruction raises. Which handler a signal has cannot be detected from outside: use Handler.status in the \
    process. Notes show what a SIGKILL now would leave: the verdict with its certainty, the last heartbeat and its \
    breadcrumbs. A note shows why reports of the database are not uploaded. Needs permission to trace the process: run it as the same user if the process is dumpable \
    (PR_SET_DUMPABLE), or as root.
    """
  static let options: [CommandOption] = [
    CommandOption(
      "-d, --database", value: "DIR", completing: .directory,
      "list the processes of this database"),
    .color,
    .json(
      "print a JSON object with pid, healthy, and the lines of text: findings (all of them), problems and notes; "
        + "without PID, an array of objects with pid, name and database"),
  ]
  static let operands = Operands(0...1, "PID", completing: .processID)
  static let closing = """
    Exit status: 0 if there is no problem; 1 if there is one, the process cannot be examined (with --json, standard \
    output is empty then), or no process was found; 64 for a usage error.
    """

  /// The result of the examination as JSON.
  struct Answer: Codable {
    let pid: Int32
    let healthy: Bool
    let findings: [String]
    let problems: [String]
    let notes: [String]
  }

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(words, of: self)
    guard let word = arguments.operands.first else { return try list(arguments) }
    let examination = try ProcessExamination(try processID(word, arguments))
    if arguments.has("--json") {
      try StandardOutput.print(JSON.text(of: examination.answer))
    } else {
      let usesColor = try arguments.usesColor()
      for line in examination.text(usesColor: usesColor) { try StandardOutput.print(line + "\n") }
    }
    if !examination.isHealthy { throw ToolError.printed }
  }

  /// Finds the process whose ID or program name is given.
  private static func processID(_ word: String, _ arguments: Arguments) throws -> Int32 {
    if let number = Int32(word), number > 0 { return number }
    guard !word.isEmpty, word.contains(where: \.isLetter) else {
      throw arguments.usage("'\(word.escapedForMessage)' is not a process ID")
    }
    let found = HandlerSearch.processes(named: word)
    guard let first = found.first else {
      throw ToolError("no process '\(word.escapedForMessage)' that this user can examine")
    }
    guard found.count == 1 else {
      throw ToolError(
        "\(found.count) processes have the name '\(word.escapedForMessage)': "
          + found.prefix(20).map(String.init).joined(separator: ", "))
    }
    return first
  }

  /// Lists the processes that have a handler; with `--database`, only those of that database.
  private static func list(_ arguments: Arguments) throws {
    let database = try arguments["--database"].map { try ReportDatabase.place($0) }
    let found = HandlerSearch.handled(in: database)
    if arguments.has("--json") {
      try StandardOutput.print(JSON.text(of: found))
    } else {
      for process in found { try StandardOutput.print(process.text + "\n") }
    }
    guard found.isEmpty else { return }
    throw ToolError(
      "no process with a crash handler"
        + (database.map { " and the database \($0.escapedForMessage)" } ?? "")
        + " that this user can examine")
  }
}
