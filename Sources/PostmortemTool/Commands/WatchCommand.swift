internal import CrashConverter
internal import CrashReportUpload
internal import FoundationEssentials
internal import Glibc
internal import IntermediateDump
internal import PendingDumps

/// The subcommand `postmortem watch`.
enum WatchCommand: Subcommand {
  static let name = "watch"
  static let summary = "wait for crashes, and convert each dump to a report at once"
  static let usage = [
    "[OPTION...] [DIR/]",
    "--upload URL|--dsn DSN [--header-file FILE] [--interval SECONDS] [--spread SECONDS] "
      + "[--whole-reports N] [OPTION...] [DIR/]",
  ]
  static let discussion = """
    Waits for crashes, and converts each dump to a report at once. With --cores, it also waits for core files.

    Processes the dumps that already exist, then waits. Prints a line for each dump, as postmortem process does; for \
    a dump that is left for later, after a minute. A dump that a process did not finish before it died causes no \
    event: the command looks for such dumps once a minute. SIGINT or SIGTERM ends the command; its exit status is \
    then 0.
    """
  static let options: [CommandOption] = [
    .database,
    .json("print one JSON object per line, like the elements of postmortem process --json"),
    CommandOption("--count", value: "N", "exit after N reports have been created"),
    CommandOption(
      "--cores", value: "DIR", completing: .directory,
      "also create a report of each core file in DIR, two seconds after the last write to it and not while it is "
        + "being written; the core files are kept; may be given more than once"),
    .spool,
    .symbols, .create, .sanitize, .noMemory,
    CommandOption(
      "--upload", value: "URL",
      "also send each pending report to this server, as postmortem upload does, while uploads are enabled in the "
        + "database; an upload that fails is tried again later"),
    .dsn, .headerFile,
    CommandOption("--interval", value: "SECONDS", "the time between two uploads (default: 60)"),
    CommandOption(
      "--spread", value: "SECONDS",
      "delay each report by a part of this time that depends on its ID, so that hosts that crash at the same time "
        + "do not send at the same time"),
    .wholeReports, .quiet,
  ]
  static let operands = Operands.database

  /// The number of seconds between two checks if no event arrives and no core file is being written.
  ///
  /// If a dump is still left unconverted after this time, for example because its owner is still writing it, the
  /// command prints a line that says so.
  private static let longestWaitSeconds = 60

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(words, of: self)
    let path = try ReportDatabase.place(
      arguments.database(), creating: arguments.has("--create"))
    let symbolDirectories = try arguments.symbolDirectories()
    var count = try arguments.integer("--count", in: 1...Int.max) ?? .max
    arguments.remark("Waiting for crashes in \(path.escapedForMessage); press Ctrl-C to stop.")
    let waiting = try WatchWaiting(stopsAt: [SIGINT, SIGTERM])
    var cores = try WatchedCores(arguments)
    let uploads = try WatchUploads(path, arguments)
    defer { uploads?.stop() }
    // The outcomes that were printed, so that a dump whose conversion repeatedly fails or is postponed is printed
    // only once.
    var told: Set<String> = []
    var leftSince: [ReportID: ContinuousClock.Instant] = [:]
    while true {
      // Watching starts before the check, so that a dump that appears during the check causes an event. The watch is
      // set again in each iteration, because the directory may have been removed.
      waiting.watch(path + "/" + PendingDumpName.directory, orIfMissing: path)
      cores.watch { waiting.watch($0, orIfMissing: $0) }
      let dumps =
        try processIntermediateDumps(
          database: path, after: nil, symbolDirectories: symbolDirectories,
          privacy: arguments.privacy, progress: { _, _ in })
        + cores.newReports(in: path, arguments)
      let left = dumps.filter { $0.outcome.kind == .left }.map(\.reportID)
      leftSince = Dictionary(left.map { ($0, leftSince[$0] ?? .now) }) { first, _ in first }
      for dump in dumps {
        let entry = ProcessedEntry(dump)
        // The owner of this dump may still be writing it, or another converter may be converting it; both have usually
        // finished by the next check.
        if let since = leftSince[dump.reportID],
          since.duration(to: .now) < .seconds(longestWaitSeconds)
        {
          continue
        }
        if entry.outcome == "failed" || entry.isLeft,
          !told.insert("\(entry.outcome) \(entry.reportID)").inserted
        {
          continue
        }
        try StandardOutput.print(
          arguments.has("--json") ? try JSON.line(of: entry) : dump.line(database: path) + "\n")
        if !entry.isFailure, !entry.isLeft { count -= 1 }
        if count == 0 { return }
      }
      guard waiting.wait(seconds: cores.isWaiting ? WatchedCores.quietTime : longestWaitSeconds)
      else {
        return
      }
    }
  }
}

/// Uploads pending reports until the command ends.
private struct WatchUploads {
  private let uploader: ReportUploader

  /// Starts an uploader; nil if the arguments do not name a server.
  init?(_ path: String, _ arguments: Arguments) throws {
    let target = try UploadTarget(arguments, urlOption: "--upload")
    guard let target else { return nil }
    uploader = try ReportUploader(database: path, target: target, review: nil)
    let (events, printsJSON) = (uploader.events, arguments.has("--json"))
    Task.detached {
      for await event in events {
        UploadCommand.printEnd(
          of: event, json: printsJSON ? { try? StandardOutput.print($0) } : nil)
      }
    }
    try uploader.start()
  }

  /// Interrupts the current upload; the next uploader sends the report again.
  func stop() {
    let uploader = uploader
    _ = AwaitedTask.run(seconds: 5) { await uploader.stop() }
  }
}
