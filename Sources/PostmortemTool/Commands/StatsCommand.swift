internal import CrashReport
internal import CrashReportDatabase
internal import Glibc
internal import IntermediateDump
internal import PendingDumps

/// The subcommand `postmortem stats`.
enum StatsCommand: Subcommand {
  static let name = "stats"
  static let summary = "count the contents of a database, and list its top crashes"
  static let usage = ["[--json] [-d DIR]", "[--json] [DIR/]"]
  static let discussion = """
    Counts the contents of a database, and shows its most frequent crashes.

    Prints the number and size of the dumps that wait to be processed (finished), of those that belong to running \
    processes or were left by dead ones (locked), of those that are being processed or wait for another attempt \
    (claimed), of the quarantine, and of the reports by state. Also prints the client ID, whether uploads are \
    enabled, and the five most frequent signatures (for all of them: postmortem list --group). Changes nothing.
    """
  static let options: [CommandOption] = [
    .databaseToRead,
    .json(
      "print a JSON object with dumps, quarantine, reports (each count and bytes), ends (by verdict), quits, "
        + "oldestReport, newestReport, clientID and uploadsEnabled"),
  ]
  static let operands = Operands.database

  /// A number of files and their size in bytes.
  struct Amount: Codable, Equatable {
    var count = 0
    var bytes: Int64 = 0

    mutating func add(_ size: Int64) {
      count += 1
      bytes = bytes.clampedAdding(size)
    }
  }

  /// The statistics as JSON.
  struct Statistics: Codable {
    /// The number and size of the dumps in each of the states "finished", "locked" and "claimed".
    var dumps: [String: Amount] = ["finished": Amount(), "locked": Amount(), "claimed": Amount()]
    var quarantine = Amount()
    /// The number and size of the reports in each state.
    var reports: [String: Amount] = [:]
    /// The reports of runs that left no dump, by how the run ended; these reports are also counted in `reports`.
    var ends: [String: Int] = [:]
    /// The reports of requests to quit, which are also counted in `reports`.
    var quits = 0
    var oldestReport: Timestamp?
    var newestReport: Timestamp?
    /// The client ID; nil if the database has no settings, or damaged ones.
    var clientID: String?
    var uploadsEnabled = false
  }

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(words, of: self)
    let path = try ReportDatabase.place(arguments.database(isReading: true))
    let pending = path + "/" + PendingDumpName.directory
    guard InputFile.isDirectory(pending) || InputFile.isDirectory(path + "/pending") else {
      throw ToolError(path: path, ReportDatabase.notOne)
    }
    var statistics = Statistics()
    for name in InputFile.names(in: pending) {
      guard let role = PendingDumpName(fileName: name)?.role, let size = size(pending, name) else {
        continue
      }
      switch role {
      case .finished: statistics.dumps["finished"]?.add(size)
      case .locked, .hang: statistics.dumps["locked"]?.add(size)
      case .claimed: statistics.dumps["claimed"]?.add(size)
      case .runRecord, .fifo: break
      }
    }
    let quarantine = path + "/" + PendingDumpName.quarantineDirectory
    for name in DatabaseRest.quarantined(in: path) {
      if let size = size(quarantine, name) { statistics.quarantine.add(size) }
    }
    var reports: [ListedReport] = []
    var unreadable = UnreadableFiles(of: path)
    if InputFile.isDirectory(path + "/pending") {
      reports = try countReports(path, &statistics, &unreadable)
    }
    if arguments.has("--json") {
      try StandardOutput.print(JSON.text(of: statistics))
    } else {
      try StandardOutput.print(text(of: statistics))
      try printFrequent(reports)
    }
    try unreadable.check()
  }

  /// Prints the five most frequent combinations of program and signature.
  private static func printFrequent(_ reports: [ListedReport]) throws(ToolError) {
    let groups = ReportGroup.groups(of: reports)
    guard !groups.isEmpty else { return }
    let table = ReportTable(
      width: Terminal.width, usesColor: Terminal.usesColor, now: .now)
    try StandardOutput.print("\nMost frequent:\n" + table.text(of: Array(groups.prefix(5))))
  }

  /// - Returns: the reports, except those of requests to quit, which are not crashes.
  private static func countReports(
    _ path: String, _ statistics: inout Statistics, _ unreadable: inout UnreadableFiles
  ) throws -> [ListedReport] {
    let database = try ReportDatabase.open(path)
    for state in StoredReport.State.allCases { statistics.reports[state.rawValue] = Amount() }
    let listing = try database.listing()
    listing.sortedFailures.forEach { unreadable.add($0) }
    let reports = listing.reports
    let listed = try ListedReport.indexed(reports, in: database)
    for report in listed {
      let stored = report.stored
      statistics.reports[stored.state.rawValue]?.add(stored.size)
      if let kind = report.facts.map(\.end) ?? stored.endKind {
        statistics.ends[kind, default: 0] += 1
      }
      if report.isQuitRequest { statistics.quits += 1 }
    }
    statistics.oldestReport = reports.map(\.creationTime).min()
    statistics.newestReport = reports.map(\.creationTime).max()
    if let settings = try database.settingsAsTheyAre() {
      statistics.clientID = settings.clientID.description
      statistics.uploadsEnabled = settings.uploadsEnabled
    }
    return listed.filter { !$0.isQuitRequest }
  }

  private static func text(of statistics: Statistics) -> String {
    func line(_ label: String, _ amount: Amount?) -> String {
      "\(label.padded(to: 20))\(amount?.count ?? 0) of \(amount?.bytes ?? 0) bytes\n"
    }
    var text = ""
    for kind in ["finished", "locked", "claimed"] {
      text += line("dumps, \(kind)", statistics.dumps[kind])
    }
    text += line("in quarantine", statistics.quarantine)
    for state in StoredReport.State.allCases {
      text += line("reports, \(state.rawValue)", statistics.reports[state.rawValue])
    }
    for (kind, count) in statistics.ends.sorted(by: { $0.key < $1.key }) {
      text += "of these, ends      \(count) \(kind)\n"
    }
    if statistics.quits > 0 {
      text += "of these, quits     \(statistics.quits)\n"
    }
    text += "oldest report       \(statistics.oldestReport.map { "\($0.second) UTC" } ?? "none")\n"
    text += "newest report       \(statistics.newestReport.map { "\($0.second) UTC" } ?? "none")\n"
    text += "client ID           \(statistics.clientID ?? "none yet")\n"
    return text + "uploads             \(statistics.uploadsEnabled ? "enabled" : "disabled")\n"
  }

  /// The size of a regular file; nil for any other file, including a symbolic link.
  private static func size(_ directory: String, _ name: String) -> Int64? {
    var status = stat()
    guard unsafe lstat(directory + "/" + name, &status) == 0, status.st_mode & S_IFMT == S_IFREG
    else { return nil }
    return Int64(status.st_size)
  }
}
