internal import CSignalSafe
package import IntermediateDump

/// The description of a locked file's owner, which the owner writes before it creates that file.
///
/// To find out whether the owner is alive, other processes compare the record with the processes that exist.
package struct RunRecord: Sendable {
  /// The maximum number of bytes that are read from a record.
  ///
  /// A run record has at most a few thousand bytes; a longer file is not a run record.
  package static let maximumSize = 64 << 10

  package var processID: UInt32
  /// The start time in clock ticks after boot; 0 if it was not known.
  package var startTime: UInt64
  /// The start of the initial stack, which changes at exec; 0 if it was not known.
  package var stackStart: UInt64
  /// The ID of the boot; empty if it was not known.
  package var bootID: String
  /// The inode of the PID namespace, because process IDs of different namespaces cannot be compared.
  ///
  /// Nil if the namespace was not known.
  package var processNamespace: UInt64?
  /// The inode of the time namespace, because start times of different time namespaces cannot be compared.
  ///
  /// Nil if the namespace was not known.
  package var timeNamespace: UInt64?
  /// True if the owner keeps the record mapped as long as it runs, and the kernel refuses a lease on the mapped file.
  ///
  /// If the kernel later grants a lease, no process maps the record any longer.
  package var isMapped = false
  /// True if the owner takes a dump when it receives its stop signal with a `CaptureRequest`.
  package var takesRequests = false
  /// The address, in the owner's memory, of its table of the threads' alternate stacks; nil if it was not known.
  ///
  /// `postmortem capture` reads this table.
  package var toldStacks: UInt64?
  /// The time at which the handler was started, in nanoseconds since 1970; nil if it was not known.
  package var launchTime: Int64?
  /// The handler's signals; nil if they were not known.
  package var signals: OwnerSignals?
  /// The facts for a report on how the process ended; nil if there will be no such report.
  ///
  /// The value is nil, for example, if the program turned off such reports, or forgoes the calls of
  /// `SystemCalls.files`.
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

  /// Creates the record of the calling process; values that the kernel does not show are 0, empty or nil.
  ///
  /// - Parameters:
  ///   - signals: the signals that the handler has chosen; nil to record none.
  ///   - host: the host identity. By default, `host` and `statistics` are read by this call.
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

  /// Reads only the identity of the owner; nil if the record does not contain enough to judge whether the owner is
  /// alive.
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

  /// Normalizes values after a record was read, so that records can be compared.
  ///
  /// - Returns: false if the record does not have enough evidence to decide whether the owner is alive.
  package mutating func normalize() -> Bool {
    // An owner that cannot read /proc knows neither its start time nor its boot ID. If the owner maps the record, the
    // mapping is enough evidence.
    guard processID > 0, isMapped || startTime > 0 && !bootID.isEmpty else { return false }
    bootID = HostIdentity.bootID(of: Array(bootID.utf8))
    // Crash code writes 0 for an unknown namespace.
    if processNamespace == 0 { processNamespace = nil }
    if timeNamespace == 0 { timeNamespace = nil }
    return true
  }

  /// Encodes the record as an intermediate dump with one map.
  ///
  /// `OwnerProperties` writes the record token by token. The list `RunRecord.fields`, with which the converter reads
  /// records, is not used, because setting it up would take longer than the rest of the encoding, and every program
  /// would contain its code. A test checks that both encodings produce the same bytes.
  package func encoded() -> [UInt8]? {
    IntermediateDumpEncoding.encode(sizeHint: 8 << 10) { writer in
      writer.header()
      writer.startMap(.owner)
      // `course` is written first, because its notes and its heartbeat are later overwritten at fixed offsets.
      course?.encode(to: &writer)
      // A NUL is added, but not written, so that the array is never empty and always has an address.
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
    var properties = OwnerProperties()
    properties.processID = processID
    properties.startTime = startTime
    properties.stackStart = stackStart
    properties.processNamespace = processNamespace ?? 0
    properties.timeNamespace = timeNamespace ?? 0
    properties.isMapped = isMapped
    properties.takesRequests = takesRequests
    properties.launchTime = launchTime
    properties.toldStacks = toldStacks
    properties.signals = signals
    return properties
  }
}

/// The part of a run record from which a report is created if the process ends without a dump.
package struct RunCourse: Sendable {
  package var notes = RunNotes()
  package var heartbeat: RunEvidence?
  /// The state of the process when its handler was started.
  package var launch: RunEvidence?
  /// True if the process would note a call of `_exit`.
  ///
  /// If this value is false, a killed process cannot be distinguished from a process that called `_exit`.
  package var followsExits = false
  package var executablePath: String?
  package var product: String?
  package var version: String?
  package var environment: String?

  package init() {}

  /// Collects the facts about the calling process that its run record contains from the start.
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

  /// Encodes this value without the rest of the record, for the run record that a forked child writes.
  package func encoded() -> [UInt8]? {
    IntermediateDumpEncoding.encode(sizeHint: 8 << 10) { encode(to: &$0) }
  }

  /// Writes this value at the start of the record's `owner` map.
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
