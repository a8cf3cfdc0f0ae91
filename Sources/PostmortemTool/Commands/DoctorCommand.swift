/// The subcommands `postmortem doctor PID|PROGRAM` and `postmortem doctor -d DIR`.
enum DoctorCommand: Subcommand {
  static let name = "doctor"
  static let aliases = ["status"]
  static let summary = "check whether a crash of a running process would be captured"
  static let usage = ["[--json] [PID|PROGRAM]", "[--json] -d DIR"]
  static let discussion = """
    Checks whether a crash of a running process would be captured. Prints the answer first, then the problems, then \
    notes.

    PROGRAM selects the only process of that name. Without an argument, the command lists the processes with a crash \
    handler that this user can examine.

    With -d, checks whether a program of this user can start its crash handler with the directory DIR, even if no \
    process uses DIR. The command creates the files of a start and removes them again, so it finds what a start would \
    find: owner, mode, group, a read-only or full file system. If DIR does not exist, the command checks whether a start \
    can create it. Notes show what does not prevent a start, such as a parent directory that other users can write to. \
    Then the command lists the processes of this database.

    Examines the process from outside, in /proc: whether it holds the locked file, FIFO and directory of a crash \
    handler, whether it catches the signals that its run record names, and whether a thread blocks the signals that \
    an instruction raises. Which handler a signal has cannot be detected from outside: use Handler.status in the \
    process. Notes show what a SIGKILL now would leave: the verdict with its certainty, the last heartbeat and its \
    breadcrumbs. A note shows each hang that lasts, and another one shows why reports of the database are not uploaded. Needs permission to trace the process: run it as the same user if the process is dumpable \
    (PR_SET_DUMPABLE), or as root.
    """
  static let options: [CommandOption] = [
    CommandOption(
      "-d, --database", value: "DIR", completing: .directory,
      "check this directory, and list its processes"),
    .color,
    .json(
      "print a JSON object with pid, healthy, the lines of text: findings (all of them), problems and notes; and hangs: "
        + "the IDs of the reports of hangs that last; without PID, an array of objects with pid, name, database and "
        + "hangs; with -d, an object with database, healthy, problems, notes and processes (such an array)"
    ),
  ]
  static let operands = Operands(0...1, "PID", completing: .processID)
  static let closing = """
    Exit status: 0 if there is no problem; 1 if there is one; 2 if the process cannot be examined (with --json, \
    standard output is empty then), or, without -d, no process was found; 64 for a usage error.
    """

  /// The result of the examination as JSON.
  struct Answer: Codable {
    let pid: Int32
    let healthy: Bool
    let findings: [String]
    let problems: [String]
    let notes: [String]
    /// The IDs of the reports of hangs that last.
    let hangs: [String]
  }

  /// The result of the examination of a directory as JSON.
  struct DirectoryAnswer: Codable {
    let database: String
    let healthy: Bool
    let problems: [String]
    let notes: [String]
    let processes: [HandlerSearch.Found]
  }

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(words, of: self)
    guard let word = arguments.operands.first else {
      if let path = arguments["--database"] { return try examine(path, arguments) }
      return try list(arguments)
    }
    let examination: ProcessExamination
    do throws(ToolError) {
      examination = try ProcessExamination(processID(word, arguments))
    } catch {
      throw error.exitStatus == 1 ? error.exiting(with: 2) : error
    }
    if arguments.has("--json") {
      try StandardOutput.print(JSON.text(of: examination.answer))
    } else {
      try print(examination.lines, isHealthy: examination.isHealthy, arguments)
    }
    if !examination.isHealthy { throw ToolError.printed }
  }

  /// Finds the process whose ID or program name is given.
  private static func processID(
    _ word: String, _ arguments: Arguments
  ) throws(ToolError) -> Int32 {
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

  /// Examines the directory of a database, and lists the processes that use it.
  private static func examine(_ path: String, _ arguments: Arguments) throws {
    let examination = try DirectoryExamination(path)
    let found = HandlerSearch.handled(in: examination.path)
    if arguments.has("--json") {
      try StandardOutput.print(JSON.text(of: examination.answer(found)))
    } else {
      try print(examination.lines, isHealthy: examination.isHealthy, arguments)
      for process in found { try StandardOutput.print(process.text + "\n") }
    }
    if !examination.isHealthy { throw ToolError.printed }
  }

  /// Lists the processes that have a handler.
  private static func list(_ arguments: Arguments) throws {
    let found = HandlerSearch.handled(in: nil)
    if arguments.has("--json") {
      try StandardOutput.print(JSON.text(of: found))
    } else {
      for process in found { try StandardOutput.print(process.text + "\n") }
    }
    guard found.isEmpty else { return }
    throw ToolError("no process with a crash handler that this user can examine").exiting(with: 2)
  }

  /// Prints findings, with colors on a terminal.
  private static func print(_ lines: [String], isHealthy: Bool, _ arguments: Arguments) throws {
    let usesColor = try arguments.usesColor()
    for line in lines.map(\.escapedForMessage) {
      guard usesColor, let end = line.firstIndex(of: ":") else {
        try StandardOutput.print(line + "\n")
        continue
      }
      let code = line.hasPrefix("note") ? "2" : isHealthy ? "32" : "31"
      try StandardOutput.print("\u{1B}[\(code)m\(line[..<end])\u{1B}[0m\(line[end...])\n")
    }
  }
}
