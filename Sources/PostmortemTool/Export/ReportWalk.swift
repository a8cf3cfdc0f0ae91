internal import CrashReportDatabase
internal import IntermediateDump

/// Visits the reports of one or more databases.
///
/// The walk visits each ID once, in arbitrary order, and does not keep all reports in memory.
///
/// The facts about each report come from the index of its database. If the index lacks a report's facts or details,
/// the report is read in a separate process, and its facts are added to the index. The walk needs about 85 bytes of
/// memory for each report: for the report's position in the index, and for the report's ID, by which the walk
/// recognizes a report that it has already visited.
struct ReportWalk {
  private let paths: [String]
  private let period: Period
  private var seen: Set<ReportID> = []
  /// The reports that could not be read in one database; another database may contain a readable copy.
  private var unread: [ReportID: ExportedReport] = [:]
  private(set) var failureCount = 0

  /// - Parameter period: the period to which the walk is limited; reports outside it are left out.
  init(_ paths: [String], in period: Period) {
    self.paths = paths
    self.period = period
  }

  /// - Throws: `ToolError` if a directory is not a database, and errors that `visit` throws.
  mutating func forEach(_ visit: (ExportedReport) throws -> Void) throws {
    let databases = try paths.map { path in (path: path, database: try Self.open(path)) }
    for (number, (_, database)) in databases.enumerated() {
      guard let database else { continue }
      try walk(database, isLast: number == databases.count - 1, visit)
    }
    for (_, report) in unread.sorted(by: { $0.key < $1.key }) where !seen.contains(report.id) {
      try visit(report)
      fail(report)
    }
  }

  /// Opens a database; returns nil if it has no reports, because only a handler has used it so far.
  private static func open(_ path: String) throws -> CrashReportDatabase? {
    let place = try ReportDatabase.place(path)
    if InputFile.isDirectory(place + "/pending") { return try ReportDatabase.open(place) }
    guard let count = ReportDatabase.waiting(in: place) else {
      throw ToolError(path: path, ReportDatabase.notOne)
    }
    if count > 0 { Terminal.printError(DatabaseRest(of: place).waitingText) }
    return nil
  }

  private mutating func walk(
    _ database: CrashReportDatabase, isLast: Bool, _ visit: (ExportedReport) throws -> Void
  ) throws {
    let directory = try database.open()
    var index = ReportIndex(in: directory)
    // Records that are appended to a damaged index are never found, because reading ends at the damage. Listing all
    // reports writes the index again, at the cost of having all facts in memory at the same time.
    if index.isWorn(reports: .max / 4) {
      _ = try ListedReport.all(in: database)
      index = ReportIndex(in: directory)
    }
    let reader = ReportReader(symbolDirectories: [])
    var batch: [(key: ReportIndex.Key, facts: ReportFacts)] = []
    var failure: (any Error)?
    var passedOver: [CrashReportDatabaseError] = []
    let passOver = { (error: CrashReportDatabaseError) in passedOver.append(error) }
    try database.forEachReport(passedOver: passOver) { file in
      guard !seen.contains(file.id) else { return true }
      let key = ReportIndex.Key(file.id, status: file.status)
      var facts = index.facts(of: key)
      var reason: String?
      if facts?.isNamed != true {
        do throws(ToolError) {
          let found = try reader.facts(of: file.path)
          facts = found
          batch.append((key, found))
        } catch {
          // A report whose file no longer exists was removed or moved after the walk began; if it was moved, it is
          // found in the next directory.
          guard InputFile.exists(file.path) else { return true }
          if facts == nil { reason = error.description }
        }
      }
      let report = ExportedReport(
        id: file.id, state: file.state, path: file.path,
        modificationTime: file.status.modificationTime, facts,
        failure: reason)
      if reason != nil, !isLast {
        unread[file.id] = report
        return true
      }
      seen.insert(file.id)
      if reason != nil { fail(report) }
      if batch.count == 256 {
        ReportIndex.append(batch, in: directory)
        batch = []
      }
      guard period.contains(report.time) else { return true }
      do { try visit(report) } catch { failure = error }
      return failure == nil
    }
    if !batch.isEmpty { ReportIndex.append(batch, in: directory) }
    for error in passedOver {
      failureCount += 1
      Terminal.printError(error.description.escapedForMessage)
    }
    if let failure { throw failure }
  }

  private mutating func fail(_ report: ExportedReport) {
    failureCount += 1
    Terminal.printError(report.failure ?? "")
  }
}
