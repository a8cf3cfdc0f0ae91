internal import CrashReport
internal import CrashReportDatabase
internal import Foundation
internal import IntermediateDump
internal import PendingDumps

/// The subcommand `postmortem stats [DIR]`.
enum StatsCommand: Subcommand {
  static let name = "stats"
  static let summary = "count the contents of a database, or draw the crashes of several"
  static let help = """
    Counts the contents of a database, or draws an overview of the crashes of several.

    Usage: postmortem stats [DIR] [--json]
           postmortem stats [DIR]... --html [--since WHEN] [-o FILE]

    Counts and sizes of the dumps that wait to be processed (finished), of those that belong to running
    processes or were left by dead ones (locked), of those that are being processed or were given back
    (claimed), of the quarantine, and of the reports by state; the client ID and whether uploads are
    enabled. Changes nothing. POSTMORTEM_DATABASE in the environment stands for DIR.

      --json  print a JSON object with dumps, quarantine, reports (each count and bytes), ends
              (by verdict), oldestReport, newestReport, clientID and uploadsEnabled
      --html  print one HTML page that needs nothing else: crashes by day, signature, version and host,
              with charts. Takes facts as postmortem export does, and adds those that it had to read to
              the file reports.index
      --since WHEN  with --html, leave out crashes before an age (90m, 12h, 7d) or a date in UTC
      -o FILE       with --html, write it to FILE, which is replaced if it is there

    Exit status: 0; 1 if --html could not read a report, which it leaves out and counts.

    """

  /// A count of files and their bytes.
  struct Amount: Codable, Equatable {
    var count = 0
    var bytes: Int64 = 0

    mutating func add(_ size: Int64) {
      count += 1
      bytes = bytes.clampedAdding(size)
    }
  }

  /// The JSON.
  struct Statistics: Codable {
    /// By "finished", "locked" and "claimed".
    var dumps: [String: Amount] = ["finished": Amount(), "locked": Amount(), "claimed": Amount()]
    var quarantine = Amount()
    /// By state.
    var reports: [String: Amount] = [:]
    /// Reports of runs that left no dump, by their end; these are among the others too.
    var ends: [String: Int] = [:]
    var oldestReport: Timestamp?
    var newestReport: Timestamp?
    /// Nil while the database has no settings.
    var clientID: String?
    var uploadsEnabled = false
  }

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(
      words, flags: ["--html", "--json"], options: ["--since", "-o"], operands: 0...10_000,
      help: help)
    if arguments.has("--html") { return try draw(arguments) }
    guard arguments.operands.count < 2, arguments["--since"] == nil, arguments["-o"] == nil else {
      throw ToolError.usage("several databases, --since and -o go with --html", help: help)
    }
    let path = try ReportDatabase.place(arguments.database(help: help))
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
    for name in ReportDatabase.quarantined(in: path) {
      if let size = size(quarantine, name) { statistics.quarantine.add(size) }
    }
    if InputFile.isDirectory(path + "/pending") { try countReports(path, &statistics) }
    if arguments.has("--json") { return Terminal.print(try JSON.text(of: statistics)) }
    Terminal.print(text(of: statistics))
  }

  /// Writes the page.
  private static func draw(_ arguments: Arguments) throws {
    guard !arguments.has("--json") else {
      throw ToolError.usage("--json does not go with --html", help: help)
    }
    let since = try arguments.since(help: help)
    var walk = ReportWalk(try arguments.databases(help: help), since: since)
    var overview = CrashOverview()
    try walk.forEach { overview.add($0) }
    let page = OverviewPage.text(
      of: overview, since: since, now: Timestamp(seconds: Int64(time(nil))))
    if let path = arguments["-o"] {
      try OutputFile.write(page, to: path)
    } else {
      Terminal.print(page)
    }
    if walk.failureCount > 0 { throw ToolError.printed }
  }

  private static func countReports(_ path: String, _ statistics: inout Statistics) throws {
    let database = try ReportDatabase.open(path)
    for state in StoredReport.State.allCases { statistics.reports[state.rawValue] = Amount() }
    let reports = try database.reports()
    for report in try ListedReport.indexed(reports, in: database) {
      let stored = report.stored
      statistics.reports[stored.state.rawValue]?.add(stored.size)
      if let kind = report.facts.map(\.end) ?? stored.endKind {
        statistics.ends[kind, default: 0] += 1
      }
    }
    statistics.oldestReport = reports.first?.creationTime
    statistics.newestReport = reports.last?.creationTime
    // Reading settings makes them where there are none.
    if InputFile.exists(path + "/settings.dat") {
      statistics.clientID = try database.clientID().description
      statistics.uploadsEnabled = try database.uploadsEnabled()
    }
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
    text += "oldest report       \(statistics.oldestReport.map { "\($0.second) UTC" } ?? "none")\n"
    text += "newest report       \(statistics.newestReport.map { "\($0.second) UTC" } ?? "none")\n"
    text += "client ID           \(statistics.clientID ?? "none yet")\n"
    return text + "uploads             \(statistics.uploadsEnabled ? "enabled" : "disabled")\n"
  }

  /// A regular file's size; nil for anything else, a symbolic link to one too.
  private static func size(_ directory: String, _ name: String) -> Int64? {
    var status = stat()
    guard unsafe lstat(directory + "/" + name, &status) == 0, status.st_mode & S_IFMT == S_IFREG
    else { return nil }
    return Int64(status.st_size)
  }
}
