internal import Glibc
package import IntermediateDump

/// The state of a process and of its machine, at launch or at the last heartbeat.
///
/// Every property except `time` may be missing.
package struct RunEvidence: Sendable {
  /// The size of a heartbeat in a run record, in bytes.
  ///
  /// Until the evidence fits, `heartbeatBytes` leaves out the oldest breadcrumbs (but never the last one), then paths
  /// of locked files, then the cgroup, then the open contexts.
  package static let heartbeatSize = 2048
  /// The offset of the heartbeat in a run record: after the notes and the heartbeat's property header.
  package static let heartbeatOffset = RunNotePlace.offset &+ Int64(RunNotePlace.size + 7)

  /// The time in nanoseconds since 1970.
  package var time: Int64
  /// The time since boot in nanoseconds, including suspended time.
  package var uptime: UInt64?
  /// The number of processes on the machine that the kernel has killed since boot because memory ran out.
  package var machineKills: UInt64?
  /// The number of processes in the process's cgroup that were killed because memory ran out, and the number of
  /// processes in the cgroup at `time`.
  package var groupKills: UInt64?
  package var groupProcesses: UInt64?
  package var cgroup: String?
  /// The cgroup's memory in use and its limit, in bytes; the limit is nil if there is none.
  package var memoryUsed: UInt64?
  package var memoryLimit: UInt64?
  /// In bytes: the process's resident memory, the machine's memory, and the machine's available memory.
  package var residentMemory: UInt64?
  package var machineMemory: UInt64?
  package var availableMemory: UInt64?
  /// The paths of at most eight files on which the process held kernel locks.
  package var lockedFiles: [String] = []
  /// The report ID of the hang that was in progress; nil if there was no hang.
  package var hangReport: ReportID?
  /// A table with the number of contexts that were open and the oldest of them, in the layout of `openContexts` in a
  /// dump; nil except in heartbeats.
  package var openContexts: [UInt8]?
  /// The last breadcrumbs, oldest first; empty except in heartbeats.
  package var breadcrumbs: [Breadcrumb] = []

  /// A breadcrumb: a note that the program left.
  package struct Breadcrumb: Sendable, Equatable {
    /// The time at which the program left the breadcrumb, from CLOCK_BOOTTIME, in nanoseconds.
    package var uptime: UInt64
    package var threadID: UInt32
    package var text: String
    package var level: BreadcrumbLevel?
    package var metadata = BreadcrumbMetadata()

    package init(uptime: UInt64, threadID: UInt32, text: String) {
      self.uptime = uptime
      self.threadID = threadID
      self.text = text
    }
  }

  package init(time: Int64) { self.time = time }

  /// Reads the current state of the calling process, as evidence for a later report on how the process ended.
  ///
  /// The paths of locked files are left out, because only heartbeats contain them.
  ///
  /// - Parameters:
  ///   - isLaunch: true if the cgroup's files have just been opened, so that the limit that was read then is current.
  ///   - statistics: the statistics of the calling process; nil if they are not known.
  package static func current(
    _ cgroup: MemoryCgroupFiles, isLaunch: Bool = false,
    _ statistics: ProcessStatistics? = .current()
  ) -> RunEvidence {
    var evidence = RunEvidence(time: SystemClock.now)
    evidence.uptime = UInt64(bitPattern: SystemClock.sinceBoot)
    evidence.machineKills = MachineCounts.kills
    let group = MemoryCgroup(cgroup, isNew: isLaunch)
    evidence.cgroup = group.path
    evidence.groupKills = group.kills
    evidence.groupProcesses = group.processCount
    evidence.memoryUsed = group.used
    evidence.memoryLimit = group.limit
    if let pages = statistics?.own.residentPages, pages > 0 {
      evidence.residentMemory = pages &* UInt64(clamping: sysconf(Int32(clamping: _SC_PAGESIZE)))
    }
    return evidence
  }

  /// Adds the state of the machine's memory.
  ///
  /// Only heartbeats contain this state, because a value from the launch is of little use.
  package mutating func readMachineMemory() {
    let memory = SystemFile.text("/proc/meminfo", isOneRecord: true)
    machineMemory = SystemFile.number("MemTotal:", in: memory).map { $0 << 10 }
    availableMemory = SystemFile.number("MemAvailable:", in: memory).map { $0 << 10 }
  }

  /// Writes the evidence as a map in an intermediate dump, field by field.
  ///
  /// The converter's `mapFields` is not used here, because it would add 0.1 ms to each launch.
  package func encode(to writer: inout IntermediateDumpWriter) {
    func write(_ key: IntermediateDumpKey, _ value: UInt64?) {
      if let value { writer.unsigned(key, value) }
    }
    writer.startMap(.runEvidence)
    writer.signed(.evidenceTime, time)
    write(.evidenceUptime, uptime)
    write(.evidenceMachineKills, machineKills)
    write(.evidenceGroupKills, groupKills)
    write(.evidenceGroupProcesses, groupProcesses)
    writer.text(.cgroup, cgroup)
    write(.memoryUsed, memoryUsed)
    write(.memoryLimit, memoryLimit)
    write(.evidenceResidentMemory, residentMemory)
    write(.evidenceMachineMemory, machineMemory)
    write(.evidenceAvailableMemory, availableMemory)
    if !lockedFiles.isEmpty { writer.text(.evidenceLockedFiles, lockedFiles.asOneText) }
    writer.bytes(.evidenceHangReport, hangReport?.bytes)
    writer.bytes(.openContexts, openContexts)
    if !breadcrumbs.isEmpty {
      writer.startArray(.breadcrumbs)
      for breadcrumb in breadcrumbs {
        writer.startMap(.breadcrumb)
        write(.breadcrumbUptime, breadcrumb.uptime)
        writer.unsigned(.breadcrumbThreadID, UInt64(breadcrumb.threadID), width: 4)
        writer.text(.breadcrumbText, breadcrumb.text)
        if let level = breadcrumb.level { writer.unsigned(.breadcrumbLevel, level.code, width: 1) }
        if !breadcrumb.metadata.pairs.isEmpty {
          writer.bytes(.breadcrumbMetadata, breadcrumb.metadata.bytes)
        }
        writer.end()
      }
      writer.end()
    }
    writer.end()
  }

  /// Returns a heartbeat as stored in a run record: a size (4 bytes), a complete intermediate dump of that size, and
  /// zeros; nil if the evidence does not fit even without the parts that can be left out.
  package func heartbeatBytes() -> [UInt8]? {
    var evidence = self
    while true {
      let bytes = IntermediateDumpEncoding.encode(sizeHint: 4096) { writer in
        writer.header()
        evidence.encode(to: &writer)
        _ = writer.endDocument()
      }
      guard let bytes else { return nil }
      if bytes.count + 4 <= Self.heartbeatSize {
        var heartbeat: [UInt8] = []
        heartbeat.append(littleEndian: UInt32(truncatingIfNeeded: bytes.count))
        heartbeat += bytes
        return heartbeat + Array(repeating: 0, count: Self.heartbeatSize - heartbeat.count)
      }
      if evidence.breadcrumbs.count > 1 {
        evidence.breadcrumbs.removeFirst()
      } else if !evidence.lockedFiles.isEmpty {
        evidence.lockedFiles.removeLast()
      } else if evidence.cgroup != nil {
        evidence.cgroup = nil
      } else if evidence.openContexts != nil {
        evidence.openContexts = nil
      } else {
        return nil
      }
    }
  }
}
