internal import PendingDumps

/// The dumps of a database that have no report: those that wait, and those that could not be processed.
struct DatabaseRest {
  let waiting: Int
  let quarantined: Int
  private let path: String

  /// - Parameter path: the database's own.
  init(of path: String) {
    self.path = path
    waiting = ReportDatabase.waiting(in: path) ?? 0
    quarantined = Self.quarantined(in: path).count
  }

  /// The names of dumps that failed for the last time.
  static func quarantined(in path: String) -> [String] {
    InputFile.names(in: path + "/" + PendingDumpName.quarantineDirectory).filter {
      !$0.hasSuffix(".reason") && !$0.hasSuffix(".run") && !$0.hasSuffix(".tmp")
    }
  }

  /// The directory of dumps in quarantine, for a shell.
  var quarantine: String {
    (path + "/" + PendingDumpName.quarantineDirectory).quotedForShell
  }

  /// The count of dumps that wait, and the command that processes them.
  var waitingText: String {
    "\(waiting) \(waiting == 1 ? "dump waits" : "dumps wait") to be processed: "
      + "postmortem process\(path.asDatabaseOperand)"
  }

  /// One sentence for each kind of dump that the database contains.
  var notes: [String] {
    var notes: [String] = []
    if waiting > 0 { notes.append(waitingText) }
    if quarantined > 0 {
      notes.append(
        "\(quarantined) \(quarantined == 1 ? "dump that" : "dumps that") could not be processed "
          + "\(quarantined == 1 ? "lies" : "lie") in quarantine, each with the reason beside it: "
          + quarantine)
    }
    return notes
  }
}
