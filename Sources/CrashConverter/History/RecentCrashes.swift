internal import CrashReportDatabase
internal import IntermediateDump
internal import Minidump
internal import PendingDumps
internal import ProcessSnapshot

/// Returns the last crashes of one program, newest first, from reports and from dumps that are not processed yet.
///
/// The list is for decisions at start-up. For example, a program that crashed three times in a row within seconds of
/// its launch may start without its plug-ins. Runs that ended without a crash are not in the list. The call reads the
/// first part of each dump of the program, and of at most the 1,000 newest reports of all programs. Reading takes a
/// millisecond or two for each file. The call changes no dump and no report, and any thread can make it.
///
/// - Parameters:
///   - path: the database's directory. If the database does not exist, the result is empty.
///   - identifier: the program whose crashes are returned, as passed to `startHandler`.
///   - limit: the maximum number of crashes to return.
/// - Returns: each crash once, even while its dump is being processed. Dumps that were taken without a crash, reports
///   of other programs, and unreadable files are left out.
/// - Throws: `CrashConverterError` if the database cannot be read.
public func recentCrashes(
  database path: String, identifier: String, limit: Int = 20
) throws(CrashConverterError) -> [RecentCrash] {
  let identifier = PendingDumpName.identifier(reducing: identifier)
  do throws(CrashReportDatabaseError) {
    guard let database = try CrashReportDatabase(existing: path) else { return [] }
    var crashes: [RecentCrash] = []
    let pending = try CrashHistory.pending(in: database, of: identifier)
    let reported = try CrashHistory.reported(in: database, of: identifier, limit: limit)
    var seen: Set<ReportID> = []
    for crash in pending + reported where seen.insert(crash.reportID).inserted {
      crashes.append(crash)
    }
    crashes.sort { ($0.crashTime, $0.reportID) > ($1.crashTime, $1.reportID) }
    return Array(crashes.prefix(max(0, limit)))
  } catch {
    throw CrashConverterError(.databaseUnusable, error)
  }
}

/// Finds earlier crashes in pending dumps and in reports.
private enum CrashHistory {
  /// The maximum number of bytes that are read from a dump.
  ///
  /// With the handler's default options, these bytes contain all sections that precede the threads that did not crash.
  static let prefixSize = 4 << 20
  /// The maximum number of reports that are read, newest first, including reports of other programs.
  static let reportLimit = 1000

  static func pending(
    in database: CrashReportDatabase, of identifier: String
  ) throws(CrashReportDatabaseError) -> [RecentCrash] {
    let root = try database.open()
    guard try root.status(of: PendingDumpName.directory)?.kind == .directory else { return [] }
    let directory = try PendingDirectory(database: root, identifier: identifier)
    var crashes: [RecentCrash] = []
    for file in try directory.dumps(among: directory.files())
    where file.name.identifier == identifier {
      let status = try file.status.get()
      guard status.size > 0 else { continue }
      if file.name.role == .locked, try !directory.ownerVerdict(file).isDead { continue }
      guard
        let bytes = try ifUsable({ () throws(CrashReportDatabaseError) in
          try directory.directory.open(file.name.description).read(at: 0, count: prefixSize)
        }),
        let document = try? IntermediateDumpDocument(parsing: bytes),
        let crash = RecentCrash(
          document, of: identifier, reportID: file.name.reportID,
          writtenAt: status.modificationTime)
      else { continue }
      crashes.append(crash)
    }
    return crashes
  }

  /// Runs `read`, and throws its temporary errors; returns nil after any other error, for example if the file was
  /// removed in the meantime, or is not a dump or report.
  private static func ifUsable<Value>(
    _ read: () throws(CrashReportDatabaseError) -> Value?
  ) throws(CrashReportDatabaseError) -> Value? {
    do throws(CrashReportDatabaseError) {
      return try read()
    } catch {
      guard SystemRefusals.isPassing(error.errno) else { return nil }
      throw error
    }
  }

  static func reported(
    in database: CrashReportDatabase, of identifier: String, limit: Int
  ) throws(CrashReportDatabaseError) -> [RecentCrash] {
    guard try database.keepsReports() else { return [] }
    var crashes: [RecentCrash] = []
    for report in try database.reports().reversed().prefix(reportLimit) where report.state != .new {
      if crashes.count >= limit { break }
      guard
        let crash = try ifUsable({ () throws(CrashReportDatabaseError) in
          try crash(in: report, of: database, identifier)
        })
      else { continue }
      crashes.append(crash)
    }
    return crashes
  }

  private static func crash(
    in report: StoredReport, of database: CrashReportDatabase, _ identifier: String
  ) throws(CrashReportDatabaseError) -> RecentCrash? {
    let file = try database.openReport(report)
    let time = try file.status().modificationTime
    return try MinidumpSummary.document(of: file).flatMap {
      RecentCrash($0, of: identifier, reportID: report.id, writtenAt: time)
    }
  }
}

extension RecentCrash {
  /// Reads a crash of one program from an intermediate dump, or from the copy of a dump in a minidump.
  ///
  /// - Returns: nil if there was no crash, or another program crashed.
  init?(
    _ document: IntermediateDumpDocument, of identifier: String, reportID: ReportID,
    writtenAt time: Int64
  ) {
    // Only the needed keys are read. The dump is not claimed, so this read does not count as an attempt to convert it.
    let snapshot = ProcessSnapshot(summarizing: document)
    guard let exception = snapshot.exception, snapshot.request == nil, !snapshot.isQuitRequest,
      snapshot.process.identifier == identifier
    else { return nil }
    self.reportID = reportID
    crashTime = Timestamp(nanoseconds: snapshot.process.crashTime ?? time)
    uptime = snapshot.process.uptime.flatMap(Int64.init(exactly:)).map { .nanoseconds($0) }
    signal = exception.signal
  }
}
