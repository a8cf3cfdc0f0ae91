internal import CrashReportDatabase
package import IntermediateDump
package import Minidump
package import PendingDumps

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
  /// - Parameter identity: the dump's digest, which is compared with the digest that the report contains.
  static func look(
    at id: ReportID, in database: CrashReportDatabase, identity: DumpIdentity
  ) throws(CrashReportDatabaseError) -> ReportedDump {
    guard try database.synchronize(id), let report = try database.report(id),
      report.state != .new
    else { return .none }
    guard let document = try MinidumpSummary.document(of: database.openReport(report)),
      document.root.map(.runEnd) == nil
    else { return .other }
    return identity.matches(document.root.map(.process)?.unsigned(.dumpDigest)) ? .sameDump : .other
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
