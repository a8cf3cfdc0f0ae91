internal import CrashReportDatabase
internal import IntermediateDump
internal import PendingDumps

/// Detects attempts at a conversion that were interrupted because the converting program crashed on another thread.
///
/// In a crash loop, each start may convert the dump of the previous run and crash during the conversion. A dump that
/// did not cause such a crash must not go to quarantine because of the crash.
extension PendingDirectory {
  /// The number of bytes that are read from the beginning of a dump.
  ///
  /// These bytes contain the dump's exception, because only short maps precede the exception.
  private static let beginning = 64 << 10

  /// True if the converter that made a claim left a dump, and crashed on a thread other than the one that worked on the
  /// claim.
  ///
  /// The converter's own dump is newer than the dumps that it had claimed. So its own dump is converted later, and is
  /// still in this directory. The result is false if that dump no longer exists, or does not show such a crash.
  ///
  /// - Throws: if the system refuses to read the converter's own dump for a temporary reason.
  func crashedElsewhere(
    _ processID: UInt32, startTime: UInt64, _ witness: PendingDumpName.Witness?
  ) throws(CrashReportDatabaseError) -> Bool {
    guard let witness, witness.thread != 0, startTime != 0 else { return false }
    for file in try files() where file.name.role == .runRecord {
      guard let record = try runRecord(of: file.name), record.processID == processID,
        record.startTime == startTime, HostIdentity.digest(record.bootID) == witness.boot
      else { continue }
      for role in [.finished, .locked] as [PendingDumpName.Role] {
        if let thread = try crashedThread(of: file.name.with(role: role)), thread != witness.thread
        {
          return true
        }
      }
    }
    return false
  }

  /// The thread of a dump's exception; nil if there is no readable dump, or if it contains no exception.
  private func crashedThread(of name: PendingDumpName) throws(CrashReportDatabaseError) -> UInt64? {
    let bytes: [UInt8]
    do throws(CrashReportDatabaseError) {
      bytes = try directory.open(name.description).read(at: 0, count: Self.beginning)
    } catch {
      guard SystemRefusals.isPassing(error.errno) else { return nil }
      throw error
    }
    guard let document = try? IntermediateDumpDocument(parsing: bytes) else { return nil }
    return document.root.map(.exception)?.unsigned(.exceptionThreadID)
  }
}
