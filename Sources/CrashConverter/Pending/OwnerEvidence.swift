internal import PendingDumps

/// The evidence of a locked file's owner, and the rules that decide from it.
///
/// In the same boot and PID namespace the process itself decides; else in the same boot two
/// witnesses together, the FIFO and the mapped run record; another boot is death on a file system
/// that no other machine writes to; what is left is judged by its age. Evidence that cannot be read,
/// or that conflicts, never counts as death.
struct OwnerEvidence: Sendable {
  /// Nil where there is none or it is damaged.
  var record: RunRecord?
  var host: HostIdentity
  /// Of the record's process ID; only asked for in the record's own boot and namespace.
  var process: ProcessProbe
  var fifo: FIFOProbe
  /// The lease on the run record; only asked for where its owner maps it.
  var lease: RecordLease
  /// True if only this machine writes to the database's file system.
  var isLocalFileSystem: Bool
  /// Nanoseconds since the locked file or its run record was last written to.
  var age: Int64
  /// True for the files of the program that asks.
  var isOwnIdentifier: Bool

  private static let hour: Int64 = 3_600_000_000_000
  static let ownAgeLimit = 24 &* hour
  static let foreignAgeLimit = 60 &* 24 &* hour

  var verdict: OwnerVerdict {
    guard let record, let bootID = host.bootID else {
      // A FIFO belongs to one kernel: where only one can have made it, a reader is one of here.
      return isLocalFileSystem && fifo == .hasReader ? Self.heldFIFO : verdictByAge
    }
    // An owner without /proc does not know its boot. If only this machine writes to the file
    // system, both witnesses are of here, and of an earlier boot none is left.
    if record.bootID.isEmpty {
      return isLocalFileSystem ? verdictByWitnesses(record) : verdictByAge
    }
    guard record.bootID == bootID else {
      return isLocalFileSystem ? .dead("its machine was started again since") : verdictByAge
    }
    if record.isOfSamePlace(host), let verdict = record.verdict(of: process, host: host) {
      return verdict
    }
    return verdictByWitnesses(record)
  }

  /// The program may have closed the FIFO, and an overlay hides a mapping: only both together prove
  /// that nobody is left.
  private func verdictByWitnesses(_ record: RunRecord) -> OwnerVerdict {
    switch (fifo, record.isMapped ? lease : .unknown) {
    case (.hasReader, _): Self.heldFIFO
    case (_, .refused): .alive("somebody maps its run record")
    case (.noReader, .granted): .dead("nobody holds its FIFO or maps its run record")
    default: verdictByAge
    }
  }

  private static let heldFIFO = OwnerVerdict.alive("somebody holds its FIFO")

  private var verdictByAge: OwnerVerdict {
    let limit = isOwnIdentifier ? Self.ownAgeLimit : Self.foreignAgeLimit
    guard age <= limit else { return .dead("unchanged for \(age / Self.hour) hours") }
    return .alive(
      "nothing shows that its owner has ended",
      still: limit.subtractingReportingOverflow(age).partialValue)
  }
}
