/// The subcommand `postmortem doctor PID|PROGRAM`.
enum DoctorCommand: Subcommand {
  static let name = "doctor"
  static let aliases = ["status"]
  static let summary = "check whether a running process's crash would be captured"
  static let usage = ["[--json] [PID|PROGRAM]", "[--json] -d DIR"]
  static let discussion = """
    Checks whether a crash of a running process would be captured: first the answer, then what is in the way, then \
    notes.

    PROGRAM stands for its only process. Without an argument it names the processes with a crash handler that this \
    user can look at; with -d those of one database.

    Looks from outside, at /proc: whether the process holds the locked file, FIFO and directory of a crash handler, \
    whether it catches the signals that its run record names, and whether a thread blocks the signals that an \
    instruction raises. The owner of a signal's handler cannot be seen from outside: ask Handler.status in the \
    process. Notes say what a SIGKILL now would leave: the verdict with its certainty, the last heartbeat and its \
    breadcrumbs. Needs the right to trace the process: the same user where the process is dumpable \
    (PR_SET_DUMPABLE), or root.
    """
  static let options: [CommandOption] = [
    CommandOption(
      "-d, --database", value: "DIR", completing: .directory,
      "name the processes of this database"),
    .color,
    .json(
      "print a JSON object with pid, healthy, and the lines of text: findings, which has all, and problems and "
        + "notes; without PID an array of objects with pid, name and database"),
  ]
  static let operands = Operands(0...1, "PID", completing: .processID)
  static let closing = """
    Exit status: 0 all is well, 1 something is in the way, the process cannot be examined (with --json standard \
    output is empty then), or none was found, 64 wrong usage.
    """

  /// The result of the examination as JSON.
  struct Answer: Codable {
    let pid: Int32
    /// The old name of `pid`, which stays until 2.0.
    let processID: Int32
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
      Terminal.print(try JSON.text(of: examination.answer))
    } else {
      let usesColor = try arguments.usesColor()
      for line in examination.text(usesColor: usesColor) { Terminal.print(line + "\n") }
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
      throw ToolError("no process '\(word.escapedForMessage)' that this user can look at")
    }
    guard found.count == 1 else {
      throw ToolError(
        "\(found.count) processes '\(word.escapedForMessage)': "
          + found.prefix(20).map(String.init).joined(separator: ", "))
    }
    return first
  }

  /// Lists the processes that have a handler.
  private static func list(_ arguments: Arguments) throws {
    let database = try arguments["--database"].map { try ReportDatabase.place($0) }
    let found = HandlerSearch.handled(in: database)
    if arguments.has("--json") {
      Terminal.print(try JSON.text(of: found))
    } else {
      for process in found { Terminal.print(process.text + "\n") }
    }
    guard found.isEmpty else { return }
    throw ToolError(
      "no process with a crash handler"
        + (database.map { " and the database \($0.escapedForMessage)" } ?? "")
        + " that this user can look at")
  }
}
