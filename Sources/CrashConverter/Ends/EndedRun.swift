internal import CrashReportDatabase
internal import IntermediateDump
internal import PendingDumps
internal import ProcessSnapshot

/// A run that left no dump of its end, and how it ended.
struct EndedRun: Sendable {
  let record: RunRecord
  let end: RunEnd

  /// The snapshot for its report: the process, and the verdict.
  func snapshot(identifier: String) -> ProcessSnapshot {
    #if arch(arm64)
      var snapshot = ProcessSnapshot(architecture: .arm64)
    #else
      var snapshot = ProcessSnapshot(architecture: .x86_64)
    #endif
    snapshot.end = end
    snapshot.process.identifier = identifier
    snapshot.process.processID = record.processID
    snapshot.process.launchTime = record.launchTime
    snapshot.process.executablePath = record.course?.executablePath
    snapshot.process.product = record.course?.product
    snapshot.process.version = record.course?.version
    snapshot.process.environment = record.course?.environment
    snapshot.system.bootID = record.bootID
    snapshot.capture.isComplete = true
    return snapshot
  }
}

extension PendingDirectory {
  /// The end of the dead owner of an empty locked file; nil where nothing can be said of it.
  func endedRun(_ name: PendingDumpName) -> EndedRun? {
    // Without its boot nobody can say which of the machine's counts are of its time.
    guard let record = runRecord(of: name), let course = record.course, !record.bootID.isEmpty
    else { return nil }
    var evidence = EndEvidence(record: record)
    evidence.bootID = host.bootID
    let kills = MachineCounts.kills
    // Shifted in any other time namespace.
    let isShifted = host.timeNamespace.map { $0 != HostIdentity.firstTimeNamespace } ?? false
    evidence.bootTime = isShifted ? nil : MachineCounts.bootTime
    evidence.machineKills = kills
    if OwnerEvidence.isSamePlace(record, host) {
      if OwnerEvidence.isSameTime(record, host) { evidence.process = Self.process(of: record) }
      evidence.groupKills = course.launch?.cgroup.flatMap(MemoryCgroup.kills)
    }
    if let before = course.launch?.machineKills, let kills, kills > before,
      record.bootID == host.bootID
    {
      evidence.isInKernelLog = KernelLog.namesVictim(record)
    }
    evidence.hasLaterRun = hasLaterRun(than: record, of: name)
    return evidence.verdict.map { EndedRun(record: record, end: $0) }
  }

  /// The run record beside a dump; nil where there is none or it is damaged.
  func runRecord(of name: PendingDumpName) -> RunRecord? {
    (try? directory.contents(
      of: name.with(role: .runRecord).description, limit: RunRecord.maximumSize)).flatMap(
        RunRecord.init(bytes:))
  }

  private static func process(of record: RunRecord) -> EndEvidence.Process {
    guard case .found(let found) = ProcessProbe.look(at: record.processID),
      found.startTime == record.startTime
    else { return .none }
    if found.hasEnded {
      return found.waitStatus.map { .ended(waitStatus: $0) } ?? .none
    }
    guard found.stackStart != 0, record.stackStart != 0, found.stackStart != record.stackStart
    else { return .none }
    return .replaced(by: SystemFile.target("/proc/\(record.processID)/exe"))
  }

  /// True if the same process has begun another run since: exec leaves its ID and start time.
  private func hasLaterRun(than record: RunRecord, of name: PendingDumpName) -> Bool {
    guard let launch = record.launchTime, let names = try? directory.names() else { return false }
    for other in names {
      guard let other = PendingDumpName(fileName: other), other.role == .runRecord,
        other.reportID != name.reportID, let found = runRecord(of: other),
        found.processID == record.processID, found.startTime == record.startTime,
        found.bootID == record.bootID, found.processNamespace == record.processNamespace,
        found.timeNamespace == record.timeNamespace,
        found.stackStart != record.stackStart, let later = found.launchTime
      else { continue }
      if later > launch { return true }
    }
    return false
  }
}
