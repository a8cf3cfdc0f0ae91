/// The evidence of a locked file's owner, and the rules that decide from it.
///
/// In the same boot and PID namespace the process itself decides; else in the same boot two
/// witnesses together, the FIFO and the mapped run record; another boot is death on a file system
/// that no other machine writes to; what is left is judged by its age. Evidence that cannot be read,
/// or that conflicts, never counts as death.
package struct OwnerEvidence: Sendable, Equatable {
  /// Nil where there is none or it is damaged.
  package var record: RunRecord?
  package var host: HostIdentity
  /// Of the record's process ID; only asked for in the record's own boot and namespace.
  package var process: ProcessProbe
  package var fifo: FIFOProbe
  /// The lease on the run record; only asked for where its owner maps it.
  package var lease: RecordLease
  /// True if only this machine writes to the database's file system.
  package var isLocalFileSystem: Bool
  /// Nanoseconds since the locked file or its run record was last written to.
  package var age: Int64
  /// True for the files of the program that asks.
  package var isOwnIdentifier: Bool

  private static let hour: Int64 = 3_600_000_000_000
  static let ownAgeLimit = 24 &* hour
  static let foreignAgeLimit = 60 &* 24 &* hour

  package init(
    record: RunRecord?, host: HostIdentity, process: ProcessProbe, fifo: FIFOProbe,
    lease: RecordLease, isLocalFileSystem: Bool, age: Int64, isOwnIdentifier: Bool
  ) {
    self.record = record
    self.host = host
    self.process = process
    self.fifo = fifo
    self.lease = lease
    self.isLocalFileSystem = isLocalFileSystem
    self.age = age
    self.isOwnIdentifier = isOwnIdentifier
  }

  package var verdict: OwnerVerdict {
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
    if Self.isSamePlace(record, host),
      let verdict = Self.verdict(of: process, record: record, host: host)
    {
      return verdict
    }
    return verdictByWitnesses(record)
  }

  /// True if the record's process ID means the same process here.
  package static func isSamePlace(_ record: RunRecord, _ host: HostIdentity) -> Bool {
    host.isProcOurs && record.bootID == host.bootID && record.processNamespace != nil
      && record.processNamespace == host.processNamespace
  }

  /// True if start times that the owner has read and those that are read here can be compared: the
  /// kernel shifts them by the reader's time namespace.
  ///
  /// Source: time_namespaces(7); Linux fs/proc/array.c, do_task_stat.
  package static func isSameTime(_ record: RunRecord, _ host: HostIdentity) -> Bool {
    record.timeNamespace == host.timeNamespace
  }

  /// The verdict of the process that has the record's ID in the same place; nil where it does not
  /// decide.
  static func verdict(
    of process: ProcessProbe, record: RunRecord, host: HostIdentity
  ) -> OwnerVerdict? {
    switch process {
    case .missing: return .dead("process \(record.processID) is gone")
    case .unreadable: return nil
    case .found(let found):
      let knowsStartTime = isSameTime(record, host)
      if knowsStartTime, record.startTime != 0, found.startTime != record.startTime {
        return .dead("process \(record.processID) is another one")
      }
      if found.hasEnded { return .dead("process \(record.processID) has ended") }
      // A main thread that has ended has no memory to show, and other users' processes show none.
      let knowsStack = found.stackStart != 0 && record.stackStart != 0
      if knowsStack, found.stackStart != record.stackStart {
        return .dead("process \(record.processID) runs another program")
      }
      guard knowsStartTime && record.startTime != 0 || knowsStack else { return nil }
      return .alive("process \(record.processID) runs")
    }
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
