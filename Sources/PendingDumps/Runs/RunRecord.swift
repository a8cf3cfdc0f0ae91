internal import CSignalSafe
internal import IntermediateDump

/// The owner of a locked file, as it wrote itself down at launch.
///
/// The next start compares it with the processes that live then.
package struct RunRecord: Sendable, Equatable {
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
  /// True if the owner keeps the record itself mapped as long as it lives, and has seen that this
  /// shows: nobody who maps it is proof of its death.
  package var isMapped = false
  /// Nanoseconds since 1970; nil where it was not known.
  package var launchTime: Int64?
  /// The handler's signals; nil where they were not known.
  package var signals: Signals?
  /// The course of the run; nil where the program does not want it followed.
  package var course: RunCourse?

  /// The signals that `postmortem doctor` compares with a process's.
  package struct Signals: Sendable, Equatable {
    /// Bit n - 1 stands for signal n: those whose handler is ours.
    package var crash: UInt64
    /// 0 for none.
    package var stop: Int32
    package var watchdog: Int32

    package init(crash: UInt64, stop: Int32, watchdog: Int32) {
      self.crash = crash
      self.stop = stop
      self.watchdog = watchdog
    }
  }

  package init(
    processID: UInt32, startTime: UInt64, stackStart: UInt64, bootID: String,
    processNamespace: UInt64?, launchTime: Int64?, signals: Signals? = nil
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
  package static func current() -> RunRecord {
    let statistics = ProcessStatistics.current()
    return current(host: HostIdentity.current(statistics), statistics: statistics)
  }

  /// The same, of what has been read already.
  package static func current(
    signals: Signals? = nil, host: HostIdentity, statistics: ProcessStatistics?
  ) -> RunRecord {
    var record = RunRecord(
      processID: host.processID, startTime: statistics?.startTime ?? 0,
      stackStart: statistics?.stackStart ?? 0, bootID: host.bootID ?? "",
      processNamespace: host.processNamespace, launchTime: SystemClock.now, signals: signals)
    record.timeNamespace = host.timeNamespace
    return record
  }

  /// Reads a run record; nil if it is torn or does not say enough to judge by.
  package init?(bytes: [UInt8]) {
    guard let document = try? IntermediateDumpDocument(parsing: bytes), document.isComplete,
      let owner = document.root.map(.owner),
      let processID = owner.unsigned(.ownerProcessID).flatMap(UInt32.init(exactly:)),
      processID > 0
    else { return nil }
    let startTime = owner.unsigned(.ownerStartTime) ?? 0
    let bootID = owner.text(.ownerBootID) ?? ""
    let isMapped = owner.unsigned(.ownerIsMapped) == 1
    // Without /proc an owner knows neither; that it maps the record is evidence enough.
    guard isMapped || startTime > 0 && !bootID.isEmpty else { return nil }
    self.init(
      processID: processID, startTime: startTime, stackStart: owner.unsigned(.ownerStackStart) ?? 0,
      bootID: HostIdentity.bootID(of: Array(bootID.utf8)),
      processNamespace: owner.unsigned(.ownerProcessNamespace).flatMap { $0 == 0 ? nil : $0 },
      launchTime: owner.signed(.ownerLaunchTime), signals: Self.signals(of: owner))
    timeNamespace = owner.unsigned(.ownerTimeNamespace).flatMap { $0 == 0 ? nil : $0 }
    self.isMapped = isMapped
    course = RunCourse(reading: owner)
  }

  private static func signals(of owner: IntermediateDumpMap) -> Signals? {
    owner.unsigned(.ownerCrashSignals).map { crash in
      Signals(
        crash: crash,
        stop: owner.unsigned(.ownerStopSignal).flatMap(Int32.init(exactly:)) ?? 0,
        watchdog: owner.unsigned(.ownerWatchdogSignal).flatMap(Int32.init(exactly:)) ?? 0)
    }
  }

  /// The record as it is stored: an intermediate dump of one map.
  package func encoded() -> [UInt8]? {
    IntermediateDumpEncoding.encode { writer in
      writer.header()
      writer.startMap(.owner)
      // First, because notes and heartbeat are written over in place.
      course?.encode(to: &writer)
      writer.unsigned(.ownerProcessID, UInt64(processID), width: 4)
      writer.unsigned(.ownerStartTime, startTime)
      writer.unsigned(.ownerStackStart, stackStart)
      writer.text(.ownerBootID, bootID)
      writer.unsigned(.ownerProcessNamespace, processNamespace ?? 0)
      if let launchTime { writer.signed(.ownerLaunchTime, launchTime) }
      writer.unsigned(.ownerTimeNamespace, timeNamespace ?? 0)
      writer.unsigned(.ownerIsMapped, isMapped ? 1 : 0, width: 1)
      if let signals {
        writer.unsigned(.ownerCrashSignals, signals.crash)
        writer.unsigned(.ownerStopSignal, UInt64(UInt32(bitPattern: signals.stop)), width: 4)
        writer.unsigned(
          .ownerWatchdogSignal, UInt64(UInt32(bitPattern: signals.watchdog)), width: 4)
      }
      writer.end()
      _ = writer.endDocument()
    }
  }
}

/// The part of a run record that tells of a process that ends without a dump.
package struct RunCourse: Sendable, Equatable {
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
    cgroup: MemoryCgroupFiles
  ) -> RunCourse {
    var course = RunCourse()
    course.launch = RunEvidence.current(cgroup)
    course.followsExits = pm_follows_exits() == 1
    course.executablePath = executablePath
    course.product = product.map { String($0.prefix(256)) }
    course.version = version.map { String($0.prefix(256)) }
    course.environment = environment.map { String($0.prefix(256)) }
    return course
  }

  init?(reading owner: IntermediateDumpMap) {
    guard let bytes = owner.data(.ownerNotes), let notes = RunNotes(bytes: bytes) else {
      return nil
    }
    self.notes = notes
    heartbeat = owner.data(.ownerHeartbeat).flatMap { RunEvidence(heartbeat: $0) }
    launch = owner.map(.runEvidence).flatMap { RunEvidence(reading: $0) }
    followsExits = owner.unsigned(.ownerFollowsExits) == 1
    executablePath = owner.text(.executablePath)
    product = owner.text(.product)
    version = owner.text(.version)
    environment = owner.text(.environment)
  }

  /// The tokens by themselves, for a record that is written by a forked child.
  package func encoded() -> [UInt8]? {
    IntermediateDumpEncoding.encode { encode(to: &$0) }
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
