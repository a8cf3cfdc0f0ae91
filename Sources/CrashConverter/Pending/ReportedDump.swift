internal import CrashReportDatabase
package import IntermediateDump
package import Minidump
package import PendingDumps
internal import ProcessSnapshot

/// The report that the database has under a dump's ID.
///
/// The report may be from the same dump, if an earlier converter died after it finished the report but before it
/// removed the dump. But the report may also be about something else. For example, a process that was wrongly treated
/// as dead got a report on its supposed end, and crashed later with the same ID. Files that were restored
/// from a backup can have the same effect. Only a report made from the same dump counts as the dump's report.
enum ReportedDump {
  case none
  case sameDump
  case other

  /// Compares the dump with the report that has its ID.
  ///
  /// - Parameters:
  ///   - identity: the dump's digest, which is compared with the digest that the report contains.
  ///   - dump: the dump's contents, for a comparison with a report that a version without digests wrote. If nil,
  ///     such a report counts as the report of another dump.
  static func look(
    at id: ReportID, in database: CrashReportDatabase, identity: DumpIdentity,
    dump: ProcessSnapshot?
  ) throws(CrashReportDatabaseError) -> ReportedDump {
    guard try database.synchronize(id), let report = try database.report(id),
      report.state != .new
    else { return .none }
    guard let document = try MinidumpSummary.document(of: database.openReport(report)),
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

  /// True if the database already has a report with this ID that is not about a run without a dump.
  static func isCrash(
    _ id: ReportID, in database: CrashReportDatabase
  ) throws(CrashReportDatabaseError) -> Bool {
    guard let report = try database.report(id), report.state != .new else { return false }
    return try MinidumpSummary.document(of: database.openReport(report))?.root.map(.runEnd) == nil
  }
}

extension MinidumpSummary {
  /// The copy of the dump that this package stores in a report; nil if the minidump is damaged or comes from another
  /// writer.
  package static func document(
    of file: borrowing OpenFile
  ) throws(CrashReportDatabaseError) -> IntermediateDumpDocument? {
    try document { (offset, count) throws(CrashReportDatabaseError) in
      try file.read(at: offset, count: count)
    }
  }
}
