internal import CrashConverter
internal import IntermediateDump

/// The subcommand `postmortem process [DIR]`.
enum ProcessCommand: Subcommand {
  static let name = "process"
  static let summary = "turn the dumps that crashed processes left in a database into reports"
  static let help = """
    Turns the dumps that crashed processes left in a database into minidumps.

    Usage: postmortem process [DIR] [--json] [--create] [--sanitize|--no-memory]

    DIR is the directory that was given to startHandler(database:); POSTMORTEM_DATABASE in the environment
    stands for it. Prints one line for each dump. A
    dump that fails is kept and tried again the next time; the third failure moves it to DIR/quarantine,
    and so does the third attempt where the one before ended this command. A program does the same for
    itself with processIntermediateDumps(); this command is for programs that do not. Afterwards excess
    reports are removed: see postmortem prune.

    A dump that may be in use is left for a later call, and its line says why and until when: the
    process that writes it lives, or nothing shows that it has ended; another converter is at work on
    it. As root on another user's directory it works with that user's rights to files.

      --json    print a JSON array of objects with reportID, file, outcome (complete, torn, ended,
                failed, quarantined or left), reason, and until
      --create  make a database of a directory that has neither dumps nor reports, or is missing
      --sanitize, --no-memory
                leave out of the reports what may be a secret, as postmortem show does; the dumps have it
                until then, unless their handler left it out (HandlerOptions.privacy)

    Exit status: 0 if every dump became a report, also if there was none; 1 if one did not; 2 if none
    failed, but some are left.

    """

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(
      words, flags: Arguments.privacyFlags.union(["--json", "--create"]), operands: 0...1,
      help: help)
    let path = try ReportDatabase.place(
      arguments.database(help: help), creating: arguments.has("--create"))
    let progress = ProgressLine("processing dumps:")
    let processed = try processIntermediateDumps(
      database: path, privacy: arguments.privacy, progress: progress.update)
    progress.clear()
    let entries = processed.map(ProcessedEntry.init)
    if arguments.has("--json") {
      Terminal.print(try JSON.text(of: entries))
    } else {
      for dump in processed { Terminal.print(dump.line(database: path) + "\n") }
    }
    let failures = entries.count(where: \.isFailure)
    guard failures == 0 else {
      throw ToolError(path: path, "\(failures) of \(processed.count) dumps could not be processed")
    }
    let left = entries.count(where: \.isLeft)
    guard left == 0 else {
      throw ToolError(
        path: path, "\(left) of \(processed.count) dumps are left for later", exitStatus: 2)
    }
  }
}

extension ProcessedDump {
  /// One line: the outcome with cause and place, and the command that shows the report.
  func line(database: String) -> String {
    switch outcome.kind {
    case .complete, .torn, .ended:
      "\(self); postmortem show \(database.quotedForShell) \(reportID.description.prefix(8))"
    default: description
    }
  }
}

/// The outcome of a dump, as `process --json` and `watch --json` print it.
struct ProcessedEntry: Codable {
  let reportID: String
  /// The dump's name in the directory of pending dumps.
  let file: String
  /// "complete", "torn", "ended", "failed", "quarantined" or "left".
  let outcome: String
  /// The reason, for all but complete dumps.
  let reason: String?
  /// The time at which a dump that is left will be taken at the latest, if that is known.
  let until: String?

  init(_ dump: ProcessedDump) {
    reportID = dump.reportID.description
    file = dump.fileName
    outcome = dump.outcome.kind.rawValue
    reason = dump.outcome.kind == .complete ? nil : dump.outcome.reason
    until = dump.outcome.until?.description
  }

  /// True if there is no report of it.
  var isFailure: Bool { outcome == "failed" || outcome == "quarantined" }
  /// True if it was not read, since it may be in use.
  var isLeft: Bool { outcome == "left" }
}
