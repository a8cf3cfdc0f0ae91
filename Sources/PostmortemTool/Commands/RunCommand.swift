internal import CrashConverter
internal import CrashReportDatabase
internal import CrashReportUpload
internal import Foundation
internal import IntermediateDump
internal import PendingDumps

/// The subcommand `postmortem run -- COMMAND`.
enum RunCommand: Subcommand {
  static let name = "run"
  static let summary = "run a program, end as it ends, and process its dumps afterwards"
  static let help = """
    Runs a program, ends as it ends, and processes the dumps of its crash.

    Usage: postmortem run [--database DIR [--user NAME] [--sanitize|--no-memory]
                          [--upload URL|--dsn DSN [--header-file FILE]
                          [--whole-reports N]] [--json]] -- COMMAND [ARGUMENT...]

    For programs that crash and are not started again soon, and as the entry point of a container. The
    program is not changed and not traced: it has this command's terminal, descriptors, environment and
    process group. Signals that are sent to this command are passed on; those that the terminal sends to
    all of its foreground processes (Ctrl-C) reach the program once, from the terminal. As the first
    process of a container it also collects orphans.

      --database DIR  the directory that the program gives to startHandler(database:); its dumps, and
                      those of other programs there, become reports when the program has ended, one
                      line each on standard error. POSTMORTEM_DATABASE in the environment stands for it;
                      without both a line says that no dump will be processed
      --user NAME     the user that the command will have, by name or number, where root starts it and
                      it changes its user: DIR is made for that user if it is not there. Without this
                      option nothing is run where DIR belongs to another user than this command, or
                      where the command is one that changes the user (gosu, su-exec, setpriv
                      --reuid, ...) and DIR is not there
      --sanitize, --no-memory  as of postmortem process, for the reports that are made; and for all that
                      are sent
      --upload URL    then send the pending reports to this server, once, for 30 seconds at most, if
                      uploads are enabled in the database (postmortem upload DIR --enable). A report
                      that is not sent stays pending
      --dsn DSN       the same to a project at Sentry, or at a server that speaks its protocol
      --header-file FILE, --whole-reports N  as of postmortem upload
      --json          print the lines as JSON objects: of each dump as of postmortem watch, of each
                      report that was sent as of postmortem upload

    Exit status: the program's; if a signal killed it, this command ends by the same signal (without a
    core file of its own), or as the first process of a container with 128 plus the signal's number. 126
    if the program cannot be executed, 127 if it is not found, 64 for wrong usage. What happens to the
    dumps changes nothing about it.

    """

  static func run(_ words: [String]) throws {
    guard let separator = words.firstIndex(of: "--") else {
      throw ToolError.usage("'--' and a command behind it are missing", help: help)
    }
    let arguments = try Arguments(
      Array(words[..<separator]), flags: Arguments.privacyFlags.union(["--json"]),
      options: ["--database", "--user", "--upload", "--dsn", "--header-file", "--whole-reports"],
      operands: 0...0, help: help)
    let path = arguments["--database"] ?? ReportDatabase.ofEnvironment
    for option in ["--upload", "--dsn", "--user"] where arguments[option] != nil && path == nil {
      throw ToolError.usage("\(option) needs --database", help: help)
    }
    // A mistake in these is found before the program runs.
    let upload = try UploadAfterRun(arguments, help: help)
    let count = words.count - separator - 1
    guard count > 0 else { throw ToolError.usage("a command is missing behind '--'", help: help) }
    if path == nil {
      Terminal.printError(
        "postmortem run: no database is named, so no dump will be processed; write --database DIR, or "
          + "set \(ReportDatabase.variable)")
    }
    let database = try path.map { path in
      try RunDatabase(
        path, user: arguments["--user"], command: Array(words.suffix(count)), help: help)
    }
    let end = try SupervisedCommand.run(lastArguments: count)
    if let database {
      database.compare(with: end)
      process(database.path, after: end, arguments.privacy, printsJSON: arguments.has("--json"))
      upload?.send(from: database.path)
    }
    end.repeatForThisProcess()
  }

  /// Errors are printed and change nothing: the exit status is the program's.
  private static func process(
    _ database: String, after end: CommandEnd, _ privacy: ReportPrivacy, printsJSON: Bool
  ) {
    guard InputFile.isDirectory(database) else {
      // If it is missing, no handler was ever started with it.
      if InputFile.exists(database) {
        Terminal.printError(
          ToolError(path: database, "not a directory; no dump was processed").description)
      }
      return
    }
    do {
      let progress = ProgressLine("processing dumps:")
      let processed = try processIntermediateDumps(
        database: database, after: end.observed, privacy: privacy, progress: progress.update)
      progress.clear()
      for dump in processed {
        if printsJSON {
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

/// The upload of pending reports after the program's end; errors are printed and change nothing.
private struct UploadAfterRun {
  /// For the upload as a whole, in seconds: the end of a container must not wait longer.
  private static let patience = 30

  private let target: UploadTarget
  private let printsJSON: Bool

  /// Nil where the arguments name no server.
  init?(_ arguments: Arguments, help: String) throws {
    let target = try UploadCommand.target(
      arguments, urlOption: "--upload", timeout: Self.patience, help: help)
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
            path: path, "uploads are not enabled, nothing is sent: see postmortem upload --enable"
          ).description)
      }
    } catch {
      return Terminal.printError(error.description)
    }
    let (target, printsJSON) = (target, printsJSON)
    do throws(UploadError) {
      _ = try AwaitedTask.run(seconds: Self.patience) { () async throws(UploadError) -> Int in
        try await uploadReports(nil, database: path, to: target) { event in
          UploadCommand.printEnd(of: event, json: printsJSON ? { Terminal.printProgress($0) } : nil)
        }
      }
    } catch {
      Terminal.printError(error.description.escapedForMessage)
    }
  }
}
