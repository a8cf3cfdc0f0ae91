internal import CrashConverter
internal import CrashReportDatabase
internal import CrashReportUpload
internal import FoundationEssentials
internal import Glibc
internal import IntermediateDump
internal import PendingDumps

/// The subcommand `postmortem run -- COMMAND`.
enum RunCommand: Subcommand {
  static let name = "run"
  static let summary = "run a program, convert its dumps, and exit as it did"
  static let usage = ["[OPTION...] [--] COMMAND [ARGUMENT...]"]
  static let discussion = """
    Runs a program, converts the dumps of its crash, and exits as the program did.

    Use it for programs that are not restarted soon after a crash, and as the entry point of a container. The \
    program is neither changed nor traced: it has this command's terminal, descriptors, environment and process \
    group. The command forwards the signals that it receives, except job control (Ctrl-Z), SIGPIPE and faults. \
    Signals that the terminal sends to all of its foreground processes (Ctrl-C) reach the program once, from the \
    terminal. As the first process of a container, the command also reaps orphans.
    """
  static let options: [CommandOption] = [
    CommandOption(
      "-d, --database", value: "DIR", completing: .directory,
      "the directory that the program passes to startHandler(database:) (default: $POSTMORTEM_DATABASE). When the "
        + "program has ended, its dumps and those of other programs there become reports, with one line each on "
        + "standard error. If neither is set, a line warns that no dump will be processed"),
    CommandOption(
      "--user", value: "NAME",
      "the user, by name or number, that COMMAND switches to if root starts it. DIR is created for that user if "
        + "it does not exist. Without this option, COMMAND is not run if DIR belongs to a different user than "
        + "this command, or if DIR does not exist and COMMAND is one that switches the user (gosu, su-exec, "
        + "setpriv --reuid, ...)"),
    .symbols, .sanitize, .noMemory,
    CommandOption(
      "--upload", value: "URL",
      "afterwards, send the pending reports to this server, once, for at most 30 seconds, if uploads are enabled "
        + "in the database (postmortem upload --enable). A report that is not sent stays pending"),
    .dsn, .headerFile, .wholeReports,
    .json(
      "print the lines as JSON objects: for each dump, as postmortem watch does; for each report that was sent, "
        + "as postmortem upload does"),
    .quiet,
  ]
  static let operands = Operands(1...Int.max, "COMMAND", completing: .file, isCommand: true)
  static let closing = """
    Options after COMMAND belong to the program.

    Exit status: that of the program. If a signal killed the program, this command ends with the same signal \
    (without a core file of its own) or, as the first process of a container, exits with 128 plus the signal's \
    number. 126 if the program cannot be executed; 127 if it is not found; 64 for a usage error. The processing of dumps \
    does not change the exit status.
    """

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(words, of: self)
    let command = arguments.operands
    let path = arguments.namedDatabase
    for option in ["--upload", "--dsn", "--user"] where arguments[option] != nil && path == nil {
      throw arguments.usage("\(option) needs --database")
    }
    // The arguments are checked here, so that mistakes are reported before the program runs.
    let upload = try UploadAfterRun(arguments)
    let symbolDirectories = try arguments.symbolDirectories()
    if path == nil {
      Terminal.printError(
        "postmortem run: no database given, so no dump will be processed; use --database DIR, or "
          + "set \(ReportDatabase.variable)")
    }
    let database = try path.map { path in
      try RunDatabase(path, user: arguments["--user"], command: command, help: help)
    }
    let end = try SupervisedCommand.run(lastArguments: command.count)
    if let database {
      database.compare(with: end)
      process(database.path, after: end, symbolDirectories, arguments)
      upload?.send(from: database.path)
    }
    end.status.repeatForThisProcess()
  }

  /// Converts all dumps in the database after the program has ended, also those of other programs.
  ///
  /// Errors are printed, but do not change the exit status.
  private static func process(
    _ database: String, after end: CommandEnd, _ symbolDirectories: [String],
    _ arguments: Arguments
  ) {
    guard InputFile.isDirectory(database) else {
      // A missing database is not an error, because the handler creates it when the handler starts.
      if InputFile.exists(database) {
        Terminal.printError(
          ToolError(path: database, "not a directory; no dump was processed").description)
      }
      return
    }
    do {
      let progress = ProgressLine("processing dumps:", isQuiet: arguments.has("--quiet"))
      let processed = try processIntermediateDumps(
        database: database, after: end.observed, symbolDirectories: symbolDirectories,
        privacy: arguments.privacy, progress: progress.update)
      progress.clear()
      for dump in processed {
        if arguments.has("--json") {
          Terminal.printProgress(try JSON.line(of: ProcessedEntry(dump)))
        } else {
          Terminal.printError(dump.line(database: database))
        }
      }
    } catch {
      Terminal.printError("\(error)")
    }
  }
}

/// Uploads pending reports after the program's end; errors are printed, but do not change the exit status.
private struct UploadAfterRun {
  /// The time limit in seconds for the whole upload; the upload delays the end of a container by up to this time.
  private static let timeLimitSeconds = 30

  private let target: UploadTarget
  private let printsJSON: Bool

  /// Creates an upload; nil if the arguments do not name a server.
  init?(_ arguments: Arguments) throws {
    let target = try UploadTarget(arguments, urlOption: "--upload", timeout: Self.timeLimitSeconds)
    guard let target else { return nil }
    self.target = target
    printsJSON = arguments.has("--json")
  }

  func send(from path: String) {
    guard InputFile.isDirectory(DatabaseDirectory.place(path) + "/pending") else { return }
    do {
      guard try CrashReportDatabase(path: path).uploadsEnabled() else {
        return Terminal.printError(
          ToolError(
            path: path,
            "uploads are not enabled, so nothing is sent: see postmortem upload --enable"
          ).description)
      }
    } catch {
      return Terminal.printError(error.description)
    }
    let (target, printsJSON) = (target, printsJSON)
    do throws(UploadError) {
      _ = try AwaitedTask.run(seconds: Self.timeLimitSeconds) {
        () async throws(UploadError) -> Int in
        try await uploadReports(nil, database: path, to: target) { event in
          UploadCommand.printEnd(of: event, json: printsJSON ? { Terminal.printProgress($0) } : nil)
        }
      }
    } catch {
      Terminal.printError(error.description.escapedForMessage)
    }
  }
}
