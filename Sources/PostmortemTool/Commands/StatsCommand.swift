internal import CrashAnalysis
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

    Prints the number and size of the dumps that wait to be processed (waiting), of the hangs that last (hanging), of \
    the empty files for the dumps of processes that run or have ended (reserved), of the dumps that are being \
    processed (converting), of the quarantine, and of the reports: being written, pending, uploaded, and skipped \
    (reports that are not to be uploaded). Also prints the client ID, whether uploads are enabled, and the five most \
    frequent signatures (for all of them: postmortem list --group). Changes nothing.
    """
  static let options: [CommandOption] = [
    .databaseToRead,
    .json(
      "print a JSON object with dumps (waiting, hanging, reserved and converting), quarantine and reports (writing, "
        + "pending, uploaded and skipped), each with count and bytes; ends (by verdict), quits, "
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
    /// The number and size of the dumps in each state.
    struct Dumps: Codable, Equatable {
      /// Dumps that a conversion would take.
      var waiting = Amount()
      /// Dumps of hangs that last.
      var hanging = Amount()
      /// Files that processes which run or have ended opened for their dumps.
      var reserved = Amount()
      var converting = Amount()
    }

    /// The number and size of the reports in each state, with the words of `list`.
    struct Reports: Codable, Equatable {
      var writing = Amount()
      var pending = Amount()
      var uploaded = Amount()
      var skipped = Amount()

      mutating func add(_ report: StoredReport) {
        switch UploadEntry(report, isUploading: false).state {
        case _ where report.state == .new: writing.add(report.size)
        case "uploaded": uploaded.add(report.size)
        case "skipped": skipped.add(report.size)
        default: pending.add(report.size)
        }
      }
    }

    var dumps = Dumps()
    var quarantine = Amount()
    var reports = Reports()
    /// The reports of runs that left no dump, by how the run ended; these reports are also counted in `reports`.
    var ends: [String: Int] = [:]
    /// The reports of requests to quit, which are also counted in `reports`.
    var quits = 0
    /// The time of the oldest crash or, if it is not known, of its report.
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
    let waiting = WaitingDump.all(in: path, withHangs: true)
    for dump in waiting {
      if dump.isHanging {
        statistics.dumps.hanging.add(dump.size)
      } else {
        statistics.dumps.waiting.add(dump.size)
      }
    }
    let counted = Set(waiting.map(\.name.description))
    for file in InputFile.names(in: pending) where !counted.contains(file) {
      guard let role = PendingDumpName(fileName: file)?.role, let size = size(pending, file) else {
        continue
      }
      switch role {
      case .finished, .locked, .hang: statistics.dumps.reserved.add(size)
      case .claimed: statistics.dumps.converting.add(size)
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
    let listing = try database.listing()
    listing.sortedFailures.forEach { unreadable.add($0) }
    let reports = listing.reports
    let listed = try ListedReport.indexed(reports, in: database)
    for report in listed {
      let stored = report.stored
      statistics.reports.add(stored)
      if let kind = report.facts.map(\.end) ?? stored.endKind {
        statistics.ends[kind, default: 0] += 1
      }
      if report.isQuitRequest { statistics.quits += 1 }
    }
    statistics.oldestReport = listed.map(\.time).min()
    statistics.newestReport = listed.map(\.time).max()
    if let settings = try database.settingsAsTheyAre() {
      statistics.clientID = settings.clientID.description
      statistics.uploadsEnabled = settings.uploadsEnabled
    }
    return listed.filter { !$0.isQuitRequest }
  }

  private static func text(of statistics: Statistics) -> String {
    func line(_ label: String, _ amount: Amount) -> String {
      let size = amount.bytes == 0 ? "" : " (\(Quantity.size(UInt64(amount.bytes))))"
      return "\(label.padded(to: 20))\(amount.count)\(size)\n"
    }
    let (dumps, reports) = (statistics.dumps, statistics.reports)
    var text = line("dumps, waiting", dumps.waiting) + line("hangs that last", dumps.hanging)
    text += line("dumps, converting", dumps.converting) + line("files for dumps", dumps.reserved)
    text += line("in quarantine", statistics.quarantine)
    text += line("reports, pending", reports.pending) + line("reports, uploaded", reports.uploaded)
    text += line("reports, skipped", reports.skipped) + line("reports, writing", reports.writing)
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
