internal import CSignalSafe
package import IntermediateDump

/// The owner of a locked file, as it wrote itself down at launch.
///
/// The next start compares it with the processes that live then.
package struct RunRecord: Sendable {
  /// A run record is a few hundred bytes; a longer file is something else.
  package static let maximumSize = 64 << 10

  package var processID: UInt32
  /// Clock ticks after boot; 0 where it was not known.
  package var startTime: UInt64
  /// The start of the initial stack, another one after exec; 0 where it was not known.
  package var stackStart: UInt64
  /// Empty where it was not known.
  package var bootID: String
  /// The inode of the PID namespace: process IDs of different namespaces cannot be compared.
  ///
  /// Nil where it was not known.
  package var processNamespace: UInt64?
  /// The inode of the time namespace: start times of different ones cannot be compared.
  ///
  /// Nil where it was not known, and in records of versions that did not write it.
  package var timeNamespace: UInt64?
  /// True if the owner maps the record as long as it lives, and saw at its launch that the kernel refuses a lease
  /// then.
  ///
  /// A lease that is granted later proves that the owner is dead.
  package var isMapped = false
  /// True if the owner takes a dump when its stop signal comes with a `CaptureRequest`.
  package var takesRequests = false
  /// The address in the owner of its table of the threads' alternate stacks, which `postmortem capture` reads; nil
  /// where it was not known, and in records of versions that did not write it.
  package var toldStacks: UInt64?
  /// Nanoseconds since 1970; nil where it was not known.
  package var launchTime: Int64?
  /// The handler's signals; nil where they were not known.
  package var signals: OwnerSignals?
  /// The course of the run; nil where the program does not want it followed.
  package var course: RunCourse?

  package init(
    processID: UInt32, startTime: UInt64, stackStart: UInt64, bootID: String,
    processNamespace: UInt64?, launchTime: Int64?, signals: OwnerSignals? = nil
  ) {
    self.processID = processID
    self.startTime = startTime
    self.stackStart = stackStart
    self.bootID = bootID
    self.processNamespace = processNamespace
    self.launchTime = launchTime
    self.signals = signals
  }

  /// The record of the calling process; 0 or empty where the kernel does not tell.
  ///
  /// - Parameters:
  ///   - signals: the handler's.
  ///   - host: by default read now, as `statistics`.
  package static func current(
    signals: OwnerSignals? = nil, host: HostIdentity = .current(),
    statistics: ProcessStatistics? = ProcessStatistics.current()
  ) -> RunRecord {
    var record = RunRecord(
      processID: host.processID, startTime: statistics?.startTime ?? 0,
      stackStart: statistics?.stackStart ?? 0, bootID: host.bootID ?? "",
      processNamespace: host.processNamespace, launchTime: SystemClock.now, signals: signals)
    record.timeNamespace = host.timeNamespace
    return record
  }

  /// Reads who the owner is, for programs that do not read the rest; nil where that cannot be told.
  init?(ownerIn bytes: [UInt8]) {
    guard let document = try? IntermediateDumpDocument(parsing: bytes), document.isComplete,
      let map = document.root.map(.owner), let processID = map.unsigned(.ownerProcessID)
    else { return nil }
    self.init(
      processID: UInt32(clamping: processID), startTime: map.unsigned(.ownerStartTime) ?? 0,
      stackStart: map.unsigned(.ownerStackStart) ?? 0, bootID: map.text(.ownerBootID) ?? "",
      processNamespace: map.unsigned(.ownerProcessNamespace), launchTime: nil)
    timeNamespace = map.unsigned(.ownerTimeNamespace)
    isMapped = map.unsigned(.ownerIsMapped) == 1
    guard normalize() else { return nil }
  }

  /// Brings what was read into the form that records are compared in.
  ///
  /// - Returns: false if it does not say enough to judge by.
  package mutating func normalize() -> Bool {
    // An owner without /proc knows neither its start time nor its boot. Its mapping is enough to judge it by.
    guard processID > 0, isMapped || startTime > 0 && !bootID.isEmpty else { return false }
    bootID = HostIdentity.bootID(of: Array(bootID.utf8))
    // Crash code writes 0 for one that is not known.
    if processNamespace == 0 { processNamespace = nil }
    if timeNamespace == 0 { timeNamespace = nil }
    return true
  }

  /// The record as it is stored: an intermediate dump of one map.
  ///
  /// By `OwnerProperties`, token by token: `fields`, which the converter reads it by, takes longer to make than the
  /// rest, and each program would carry it. A test compares the two.
  package func encoded() -> [UInt8]? {
    IntermediateDumpEncoding.encode(sizeHint: 8 << 10) { writer in
      writer.header()
      writer.startMap(.owner)
      // First, because notes and heartbeat are written over in place.
      course?.encode(to: &writer)
      // With an end, so that there is a place of an empty text too.
      unsafe (Array(bootID.utf8) + [0]).withUnsafeBytes { text in
        if let place = text.baseAddress {
          unsafe properties.write(to: &writer, bootID: place, count: text.count - 1)
        }
      }
      writer.end()
      _ = writer.endDocument()
    }
  }

  private var properties: OwnerProperties {
    var properties = OwnerProperties(
      processID: processID, startTime: startTime, stackStart: stackStart,
      processNamespace: processNamespace ?? 0, timeNamespace: timeNamespace ?? 0,
      isMapped: isMapped, takesRequests: takesRequests)
    properties.launchTime = launchTime
    properties.toldStacks = toldStacks
    properties.signals = signals
    return properties
  }
}

/// The part of a run record that tells of a process that ends without a dump.
package struct RunCourse: Sendable {
  package var notes = RunNotes()
  package var heartbeat: RunEvidence?
  /// The state of the process when its handler was started.
  package var launch: RunEvidence?
  /// True if an end by `_exit` would be in the notes; without that, a process that was killed looks
  /// like one that called it.
  package var followsExits = false
  package var executablePath: String?
  package var product: String?
  package var version: String?
  package var environment: String?

  package init() {}

  /// The course of the calling process at its start.
  package static func current(
    executablePath: String?, product: String?, version: String?, environment: String?,
    cgroup: MemoryCgroupFiles, statistics: ProcessStatistics?
  ) -> RunCourse {
    var course = RunCourse()
    course.launch = RunEvidence.current(cgroup, isLaunch: true, statistics)
    course.followsExits = pm_follows_exits() == 1
    course.executablePath = executablePath
    course.product = product.map { String($0.prefix(256)) }
    course.version = version.map { String($0.prefix(256)) }
    course.environment = environment.map { String($0.prefix(256)) }
    return course
  }

  /// The tokens by themselves, for a record that is written by a forked child.
  package func encoded() -> [UInt8]? {
    IntermediateDumpEncoding.encode(sizeHint: 8 << 10) { encode(to: &$0) }
  }

  /// Writes the properties, which must come first in the owner's map.
  func encode(to writer: inout IntermediateDumpWriter) {
    writer.bytes(.ownerNotes, notes.bytes)
    writer.bytes(
      .ownerHeartbeat,
      heartbeat?.heartbeatBytes() ?? [UInt8](repeating: 0, count: RunEvidence.heartbeatSize))
    writer.unsigned(.ownerFollowsExits, followsExits ? 1 : 0, width: 1)
    launch?.encode(to: &writer)
    writer.text(.executablePath, executablePath)
    writer.text(.product, product)
    writer.text(.version, version)
    writer.text(.environment, environment)
  }
}
