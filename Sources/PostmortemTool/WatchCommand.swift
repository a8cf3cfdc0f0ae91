internal import CrashConverter
internal import Foundation
internal import IntermediateDump

/// The subcommand `postmortem watch DIR`.
enum WatchCommand: Subcommand {
  static let name = "watch"
  static let summary = "wait for crashes, and turn each dump into a report at once"
  static let help = """
    Waits for crashes, and turns each dump into a report at once.

    Usage: postmortem watch DIR [--json] [--count N]

    Processes what is there, then waits. Prints a line for each dump, as postmortem process does. Dumps
    that a dead process did not finish make no stir: for these it looks once a minute. Ends with SIGINT
    or SIGTERM, and its exit status is 0 then. DIR must be there.

      --json     print one JSON object a line, as an element of postmortem process --json
      --count N  end when N reports were made

    """

  /// Between two looks without an event, in seconds.
  private static let patience = 60

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(
      words, flags: ["--json"], options: ["--count"], operands: 1...1, help: help)
    let path = arguments.operands[0]
    guard InputFile.isFolder(path) else { throw ToolError(path: path, "no such folder") }
    var left = try arguments.integer("--count", in: 1...Int.max, help: help) ?? .max
    let watcher = try FolderWatcher(stopsAt: [SIGINT, SIGTERM])
    // A dump that goes on failing, or is left again and again, is told once.
    var told: Set<String> = []
    while true {
      // Before the look, so that what comes during it is an event. Made again if it was removed.
      watcher.watch(path + "/" + PendingDumpName.folder, orIfMissing: path)
      for dump in try processIntermediateDumps(database: path) {
        let entry = ProcessedEntry(dump)
        if entry.outcome == "failed" || entry.isLeft,
          !told.insert("\(entry.outcome) \(entry.reportID)").inserted
        {
          continue
        }
        Terminal.print(
          arguments.has("--json") ? try JSON.line(of: entry) : dump.description + "\n")
        if !entry.isFailure, !entry.isLeft { left -= 1 }
        if left == 0 { return }
      }
      guard watcher.wait(seconds: patience) else { return }
    }
  }
}
