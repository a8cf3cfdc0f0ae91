internal import CrashReportDatabase
internal import Glibc
internal import IntermediateDump
internal import ProcessSnapshot

/// A run that left no dump of its end, and how it ended.
struct EndedRun: Sendable {
  let record: RunRecord
  let end: RunEnd

  /// The content of its report: the process, and the verdict.
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
  /// Judges the end of an empty locked file's owner, whose death is known; nil if there is nothing
  /// to be said of it.
  func endedRun(_ name: PendingDumpName) -> EndedRun? {
    // Without its boot nobody can say which of the machine's counts are of its time.
    guard let record = runRecord(of: name), let course = record.course, !record.bootID.isEmpty
    else { return nil }
    var evidence = EndEvidence(record: record)
    evidence.bootID = host.bootID
    let now = MachineCounts.current()
    // Shifted in any other time namespace.
    let isShifted = host.timeNamespace.map { $0 != HostIdentity.firstTimeNamespace } ?? false
    evidence.bootTime = isShifted ? nil : now.bootTime
    evidence.machineKills = now.kills
    if OwnerEvidence.isSamePlace(record, host) {
      if OwnerEvidence.isSameTime(record, host) { evidence.process = Self.process(of: record) }
      evidence.groupKills = course.launch?.cgroup.flatMap(MachineCounts.groupKills)
    }
    if let before = course.launch?.machineKills, let kills = now.kills, kills > before,
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
      return ProcessProbe.waitStatus(of: record.processID).map { .ended(waitStatus: $0) } ?? .none
    }
    guard found.stackStart != 0, record.stackStart != 0, found.stackStart != record.stackStart
    else { return .none }
    return .replaced(by: ProcessProbe.executable(of: record.processID))
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

/// The machine's counters, now.
struct MachineCounts {
  /// Processes killed for want of memory since boot.
  var kills: UInt64?
  /// Nanoseconds since 1970.
  var bootTime: Int64?

  static func current() -> MachineCounts {
    MachineCounts(
      kills: CgroupText.number("oom_kill", in: text("/proc/vmstat", limit: 1 << 16)),
      bootTime: CgroupText.number("btime", in: text("/proc/stat", limit: 1 << 20))
        .flatMap { Int64(exactly: $0) }
        .flatMap { $0 > 1 << 33 ? nil : $0 &* 1_000_000_000 })
  }

  /// The same of a control group; nil if it is not there any more.
  static func groupKills(_ path: String) -> UInt64? {
    let own = text("/proc/self/cgroup").flatMap(CgroupText.memoryPath)
    for directory in CgroupText.memoryDirectories(of: path, isOwn: path == own) {
      if let kills = CgroupText.memoryKills(in: directory, contents: { text($0) }) {
        return kills.count
      }
    }
    return nil
  }

  private static func text(_ path: String, limit: Int = 4096) -> String? {
    ProcFile.contents(path, limit: limit).map { String(decoding: $0, as: UTF8.self) }
  }
}

extension ProcessProbe {
  /// The wait status of a process that nobody has waited for yet; 0 also where the kernel keeps it
  /// from this user.
  ///
  /// Source: proc_pid_stat(5), field 52.
  static func waitStatus(of processID: UInt32) -> Int32? {
    guard let text = ProcFile.contents("/proc/\(processID)/stat"),
      let nameEnd = text.lastIndex(of: UInt8(ascii: ")"))
    else { return nil }
    let fields = text[text.index(after: nameEnd)...].split(whereSeparator: { $0 <= 0x20 })
    return fields.count > 49 ? Int32(String(decoding: fields[49], as: UTF8.self)) : nil
  }

  /// The path of a process's program; nil where it is not to be had.
  static func executable(of processID: UInt32) -> String? {
    var path = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = unsafe readlink("/proc/\(processID)/exe", &path, path.count)
    guard count > 0 else { return nil }
    return String(decoding: path[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
