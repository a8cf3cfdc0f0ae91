internal import PendingDumps

/// The dumps of a database that have no report: dumps that wait for conversion, and dumps that could not be
/// processed.
struct DatabaseRest {
  let waiting: Int
  let quarantined: Int
  private let path: String

  /// - Parameter path: the path of the database's directory, as `ReportDatabase.place` returns it.
  init(of path: String) {
    self.path = path
    waiting = ReportDatabase.waiting(in: path) ?? 0
    quarantined = Self.quarantined(in: path).count
  }

  /// The names of the dumps in quarantine, without the files that accompany them.
  static func quarantined(in path: String) -> [String] {
    InputFile.names(in: path + "/" + PendingDumpName.quarantineDirectory).filter {
      !$0.hasSuffix(".reason") && !$0.hasSuffix(".run") && !$0.hasSuffix(".tmp")
    }
  }

  /// The path of the directory of dumps in quarantine, quoted for a shell.
  var quarantine: String {
    (path + "/" + PendingDumpName.quarantineDirectory).quotedForShell
  }

  /// The number of dumps that wait for conversion, and the command that processes them.
  var waitingText: String {
    "\(waiting) \(waiting == 1 ? "dump waits" : "dumps wait") to be processed: "
      + "postmortem process\(path.asDatabaseOperand)"
  }

  /// The sentences about the dumps without a report, one for each kind of dump that the database contains.
  var notes: [String] {
    var notes: [String] = []
    if waiting > 0 { notes.append(waitingText) }
    if quarantined > 0 {
      notes.append(
        "\(quarantined) \(quarantined == 1 ? "dump" : "dumps") could not be processed and "
          + "\(quarantined == 1 ? "is" : "are") in quarantine, each next to a file with the reason: "
          + quarantine)
    }
    return notes
  }
}
