internal import CrashReportDatabase
internal import IntermediateDump
internal import Minidump
internal import ProcessSnapshot

/// The report that the database has under a dump's ID.
///
/// An earlier converter may have ended between finishing the report and removing its dump; then it is the same dump.
/// But a process that was wrongly treated as dead may have got a report on its end, and may have crashed later with
/// the same ID. Or the files may have been restored from a backup. Only a report of the same dump counts as the
/// dump's report.
enum ReportedDump {
  case none
  case sameDump
  case other

  /// Compares the dump with the report that has its ID.
  ///
  /// - Parameters:
  ///   - identity: the identity of the dump.
  ///   - dump: the dump's contents, to compare with a report of a version without a digest; nil to treat such a
  ///     report as another one.
  static func look(
    at id: ReportID, in database: CrashReportDatabase, identity: DumpIdentity,
    dump: ProcessSnapshot?
  ) throws(CrashReportDatabaseError) -> ReportedDump {
    guard try database.synchronize(id), let report = try database.report(id),
      report.state != .new
    else { return .none }
    guard let document = try summary(of: database.openReport(report)),
      document.root.map(.runEnd) == nil
    else { return .other }
    if let known = document.root.map(.process)?.unsigned(.dumpDigest) {
      return identity.matches(known) ? .sameDump : .other
    }
    guard let dump else { return .other }
    let known = ProcessSnapshot(reading: document)
    let isSame =
      known.process.crashTime != nil && known.process.crashTime == dump.process.crashTime
      && known.process.processID == dump.process.processID
      && known.exception?.threadID == dump.exception?.threadID
    return isSame ? .sameDump : .other
  }

  /// True if there is already a report with this ID that says that the run ended by a crash.
  static func isCrash(
    _ id: ReportID, in database: CrashReportDatabase
  ) throws(CrashReportDatabaseError) -> Bool {
    guard let report = try database.report(id), report.state != .new else { return false }
    return try summary(of: database.openReport(report))?.root.map(.runEnd) == nil
  }

  /// This package's copy of the dump in a report; nil in a foreign or damaged minidump.
  static func summary(
    of file: borrowing OpenFile
  ) throws(CrashReportDatabaseError) -> IntermediateDumpDocument? {
    try MinidumpSummary.document { (offset, count) throws(CrashReportDatabaseError) in
      try file.read(at: offset, count: count)
    }
  }
}
