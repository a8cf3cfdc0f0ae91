internal import CrashReportDatabase
internal import IntermediateDump
internal import PendingDumps

/// Attempts that were cut off by a crash of the program that converts, on another thread.
///
/// In a crash loop each start may convert what the one before left, and crash in the midst of it. A
/// dump that had no part in that is not to be set aside for it.
extension PendingDirectory {
  /// Bytes of a dump in which its exception is found: the sections before it are short.
  private static let beginning = 64 << 10

  /// True if a dump tells that a claim's converter crashed on another thread than the one that worked
  /// on the claim.
  ///
  /// The dump lies in this directory still: it is younger than what its process had claimed, and so is
  /// converted after that. False if it no longer exists, or says nothing.
  ///
  /// - Throws: where the system does not say.
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

  /// The thread of a dump's exception; nil where there is no dump, or none of a crash.
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
