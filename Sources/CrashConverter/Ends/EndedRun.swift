internal import CrashReportDatabase
internal import IntermediateDump
package import PendingDumps
package import ProcessSnapshot

/// A run that left an empty or truncated dump, and how it ended.
struct EndedRun: Sendable {
  let record: RunRecord
  let end: RunEnd

  /// The report ID of the hang during which the process was killed; nil if it did not hang.
  var hangReport: ReportID? {
    end.kind == .hungThenKilled ? record.course?.heartbeat?.hangReport : nil
  }

  /// The snapshot for the report on the run, with the process, the verdict, and the data of the last heartbeat.
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
    if let last = record.course?.heartbeat {
      snapshot.process.crashTime = last.time
      snapshot.process.crashUptime = last.uptime
      snapshot.client.openContextTable = last.openContexts
      snapshot.client.breadcrumbs = last.breadcrumbs.map { note in
        var breadcrumb = ClientInformation.Breadcrumb(text: note.text)
        (breadcrumb.uptime, breadcrumb.threadID) = (note.uptime, note.threadID)
        (breadcrumb.level, breadcrumb.metadata) = (note.level, note.metadata)
        breadcrumb.time = last.uptime.map {
          last.time &- Int64(truncatingIfNeeded: $0 &- note.uptime)
        }
        return breadcrumb
      }
    }
    snapshot.capture.isComplete = true
    return snapshot
  }
}

extension RunEnd {
  /// The verdict that a report would contain if a living process were killed now; nil if there would be none.
  package init?(ifKilledNow record: RunRecord) {
    // The process would be killed in the boot that its record names, even if this process reads another boot ID.
    var evidence = EndEvidence(record: record)
    evidence.bootID = record.bootID
    guard let verdict = evidence.verdict else { return nil }
    self = verdict
  }
}

/// How a process ended, as its parent learned from waitpid(2).
package struct ObservedEnd: Sendable {
  let processID: UInt32
  let startTime: UInt64
  let waitStatus: Int32

  /// - Parameters:
  ///   - startTime: the time of the start, in clock ticks after boot.
  ///   - waitStatus: the status that waitpid(2) stored.
  package init(processID: UInt32, startTime: UInt64, waitStatus: Int32) {
    self.processID = processID
    self.startTime = startTime
    self.waitStatus = waitStatus
  }
}

extension PendingDirectory {
  /// How the dead owner of an empty or truncated dump ended; nil if there is no verdict.
  ///
  /// - Throws: if the record or the evidence cannot be read now; a later call may succeed.
  func endedRun(_ name: PendingDumpName) throws(CrashReportDatabaseError) -> EndedRun? {
    guard let record = try runRecord(of: name), let course = record.course else { return nil }
    var evidence = EndEvidence(record: record)
    evidence.bootID = host.bootID
    let refusals = SystemRefusals.now
    let kills = MachineCounts.kills
    // In a time namespace other than the initial one, times are shifted, so the boot time is not used.
    let isShifted = host.timeNamespace.map { $0 != HostIdentity.firstTimeNamespace } ?? false
    evidence.bootTime = isShifted ? nil : MachineCounts.bootTime
    evidence.machineKills = kills
    if record.isOfSamePlace(host) {
      if record.isOfSameTime(host) { evidence.process = process(of: record) }
      evidence.groupKills = course.launch?.cgroup.flatMap(MemoryCgroup.kills)
    }
    if let before = course.launch?.machineKills, let kills, kills > before,
      record.bootID == host.bootID
    {
      (evidence.isInKernelLog, evidence.othersInKernelLog) = KernelLog.victims(since: record)
    }
    try checkRefusals(since: refusals)
    evidence.hasLaterRun = try hasLaterRun(than: record, of: name)
    return evidence.verdict.map { EndedRun(record: record, end: $0) }
  }

  /// How the dead process ended during a hang; nil if no run record names the hang, or the process ended otherwise.
  ///
  /// - Throws: as `endedRun`.
  func end(ofHang report: ReportID) throws(CrashReportDatabaseError) -> RunEnd? {
    for fileName in try directory.names() {
      guard let name = PendingDumpName(fileName: fileName), name.role == .runRecord,
        try runRecord(of: name)?.course?.heartbeat?.hangReport == report,
        try sizesOfDumps(name.reportID).allSatisfy({ $0 == 0 }),
        let run = try endedRun(name), run.hangReport == report
      else { continue }
      return run.end
    }
    return nil
  }

  /// The run record of a dump; nil if there is none or it is damaged.
  ///
  /// - Throws: if a temporary system error prevents reading the record.
  func runRecord(of name: PendingDumpName) throws(CrashReportDatabaseError) -> RunRecord? {
    do throws(CrashReportDatabaseError) {
      return RunRecord(
        bytes: try directory.contents(
          of: name.with(role: .runRecord).description, limit: RunRecord.maximumSize))
    } catch {
      // If the error is not temporary, there is no record to read. For example, a file of another user, or of another
      // kind, has the record's name.
      guard SystemRefusals.isPassing(error.errno) else { return nil }
      throw error
    }
  }

  private func process(of record: RunRecord) -> EndEvidence.Process {
    if let observedEnd, observedEnd.processID == record.processID,
      observedEnd.startTime == record.startTime
    {
      return .ended(waitStatus: observedEnd.waitStatus)
    }
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

  /// True if the same process began another run after the run of `record`; exec changes neither the process ID nor
  /// the start time.
  private func hasLaterRun(
    than record: RunRecord, of name: PendingDumpName
  ) throws(CrashReportDatabaseError) -> Bool {
    guard let launch = record.launchTime else { return false }
    for fileName in try directory.names() {
      guard let other = PendingDumpName(fileName: fileName), other.role == .runRecord,
        other.reportID != name.reportID, let found = try runRecord(of: other),
        found.processID == record.processID, found.startTime == record.startTime,
        found.bootID == record.bootID, found.processNamespace == record.processNamespace,
        found.timeNamespace == record.timeNamespace,
        found.stackStart != record.stackStart, let later = found.launchTime, later > launch
      else { continue }
      return true
    }
    return false
  }
}
