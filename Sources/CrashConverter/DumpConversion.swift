internal import CrashReportDatabase
internal import Glibc
internal import IntermediateDump
internal import Minidump
internal import ProcessSnapshot

/// One dump on its way into the database.
struct DumpConversion: ~Copyable {
  /// Why a dump did not become a report this time.
  struct Failure: Error {
    let reason: String
    /// False if the machine was at fault, not the dump: then it may be tried any number of times.
    let isOfDump: Bool
    /// True if the database said that it has the report.
    let isReportThere: Bool

    init(reason: String, isOfDump: Bool) {
      self.reason = reason
      self.isOfDump = isOfDump
      isReportThere = false
    }

    /// An error of the database, in which the dump had no part.
    init(_ error: CrashReportDatabaseError) {
      reason = error.description
      isOfDump = false
      isReportThere = error.code == .reportExists
    }
  }

  /// The largest dump that is read, in bytes.
  static let maximumSize = 512 << 20

  let database: CrashReportDatabase
  /// What the caller has to say of every dump; these win over the dump's own.
  let annotations: [String: String]
  /// For keeping names and lines of the crashing thread with the report; nil for not.
  let symbols: SymbolBudget?
  let userStreams: UserStreams

  /// Makes a report of a dump, durably.
  ///
  /// - Returns: nil for a complete dump, where and why it broke off for a torn one.
  func convert(
    _ claim: DumpClaim, in folder: borrowing Folder
  ) throws(Failure) -> IntermediateDumpDocument.Damage? {
    let document = try read(claim, in: folder)
    let reportID = claim.name.reportID
    // An earlier converter may have died between finishing the report and removing the dump.
    if try isReported(reportID) { return document.damage }
    var snapshot = ProcessSnapshot(reading: document)
    snapshot.reportID = reportID
    snapshot.annotations.merge(annotations) { _, new in new }
    // Not again after a converter died at this dump: the report matters more than its names.
    if let symbols, claim.attempt == 1 { snapshot.storedSymbols = symbols.gather(for: snapshot) }
    if claim.attempt == 1 { userStreams.add(to: &snapshot) }
    copyAttachments(of: &snapshot, to: reportID)
    do throws(Failure) {
      try store(&snapshot, as: reportID)
    } catch  where error.isReportThere {
      // Another converter took this one for dead, and was faster.
      guard try isReported(reportID) else { throw error }
    }
    return document.damage
  }

  private func store(
    _ snapshot: inout ProcessSnapshot, as reportID: ReportID
  ) throws(Failure) {
    let report: NewReport
    do throws(CrashReportDatabaseError) {
      snapshot.clientID = try database.clientID()
      report = try database.prepareNewReport(reportID)
    } catch {
      throw Failure(error)
    }
    do throws(MinidumpError) {
      try MinidumpWriter.write(snapshot, to: report.descriptor)
    } catch {
      // An error number says that the system refused, a full disk for one.
      throw Failure(reason: "\(error)", isOfDump: error.errno == 0)
    }
    do throws(CrashReportDatabaseError) {
      try report.finish()
    } catch {
      throw Failure(error)
    }
  }

  /// True if the report is in the database, and would survive a power cut.
  private func isReported(_ reportID: ReportID) throws(Failure) -> Bool {
    do throws(CrashReportDatabaseError) {
      return try database.synchronize(reportID)
    } catch {
      throw Failure(error)
    }
  }

  private func read(
    _ claim: DumpClaim, in folder: borrowing Folder
  ) throws(Failure) -> IntermediateDumpDocument {
    let bytes: [UInt8]
    do throws(CrashReportDatabaseError) {
      bytes = try folder.contents(of: claim.name.description, limit: Self.maximumSize)
    } catch {
      throw Failure(reason: error.description, isOfDump: error.code != .fileSystemError)
    }
    do throws(IntermediateDumpError) {
      return try IntermediateDumpDocument(parsing: bytes)
    } catch {
      throw Failure(reason: error.description, isOfDump: true)
    }
  }
}
