internal import CSignalSafe
internal import IntermediateDump

/// The run record beside a locked file that is not made by `startHandler`: a forked child's, or the
/// next one of a process that goes on after a crash.
///
/// RUNS-DURING-CRASH. Source: `RunRecord`, which writes the first one.
@safe
struct RunRecordFile {
  private let capture: Capture

  @_noLocks
  init(_ capture: Capture) {
    self.capture = capture
  }

  /// Writes it to an open file.
  ///
  /// - Parameter isMapped: whether this process maps that file, as `RecordMapping` has it.
  /// - Returns: false if it did not become whole; a reader then takes it for none.
  @_noLocks
  func write(to descriptor: Int32, isMapped: Bool) -> Bool {
    let half = capture.session.scratch.size / 2
    let run = runFacts()
    var writer = unsafe IntermediateDumpWriter(
      buffer: capture.session.scratch.address + half, capacity: half, descriptor: descriptor,
      byteLimit: UInt64.max)
    writer.header()
    writer.startMap(.owner)
    // First, because notes and heartbeat are written over in place.
    if capture.session.runRecord.isFollowed {
      writer.encoded(capture.installed.encoded.course)
    }
    writer.unsigned(
      .ownerProcessID, UInt64(UInt32(bitPattern: capture.shared.process.id)), width: 4)
    writer.unsigned(.ownerStartTime, run.startTime)
    writer.unsigned(.ownerStackStart, run.stackStart)
    unsafe writer.property(.ownerBootID, run.bootID, count: run.bootIDCount)
    writer.unsigned(.ownerProcessNamespace, run.processNamespace)
    writer.signed(.ownerLaunchTime, run.launchTime)
    writer.unsigned(.ownerTimeNamespace, run.timeNamespace)
    writer.unsigned(.ownerIsMapped, isMapped ? 1 : 0, width: 1)
    writer.unsigned(
      .ownerTakesRequests, capture.installed.takesRequests ? 1 : 0, width: 1)
    writer.unsigned(.ownerCrashSignals, capture.installed.signals.crashes)
    writer.unsigned(
      .ownerStopSignal, UInt64(UInt32(bitPattern: capture.installed.signals.stop)), width: 4)
    writer.unsigned(
      .ownerWatchdogSignal, UInt64(UInt32(bitPattern: capture.installed.signals.watchdog)), width: 4
    )
    if capture.session.request.isCrash && capture.shared.survived.count > 0 {
      unsafe writer.property(.continuesReport, capture.shared.survived.report, count: 16)
    }
    writer.end()
    return writer.endDocument()
  }

  /// The identity of this process, which a forked child does not find in its parent's record.
  private func runFacts() -> RunFacts {
    let known = capture.shared.process.run
    guard capture.shared.process.isForkedChild && !known.isOfThisProcess else { return known }
    let own = read(over: known)
    // Any number of threads may take a dump without a crash, and read it for themselves.
    if capture.session.request.isCrash { capture.shared.process.run = own }
    return own
  }

  private func read(over parent: RunFacts) -> RunFacts {
    let proc = capture.proc
    var run = parent
    run.startTime = 0
    run.stackStart = 0
    run.isOfThisProcess = true
    let scratch = capture.session.scratch.firstHalf
    let count = unsafe proc.read(
      named: "self/stat", into: scratch.address, capacity: scratch.size)
    let text = scratch.bytes(count: count)
    // Field 2, the name, may hold blanks and parentheses; no later field does.
    var start = count
    while start > 0, text[start &- 1] != 0x29 { start &-= 1 }
    var scanner = text.dropFirst(start).text
    var field = 3
    while field <= 28, !scanner.isAtEnd {
      scanner.skipBlanks()
      if field == 22 { run.startTime = scanner.decimal() }
      if field == 28 { run.stackStart = scanner.decimal() }
      scanner.skipWord()
      field &+= 1
    }
    // A child can be the first process of a namespace that its parent made.
    run.processNamespace = namespace(
      "thread-self/ns/pid", of: proc, otherwise: parent.processNamespace)
    run.timeNamespace = namespace(
      "thread-self/ns/time", of: proc, otherwise: parent.timeNamespace)
    return run
  }

  /// A namespace's inode; 0 if it cannot be looked at, the other number if it cannot be opened.
  private func namespace(
    _ path: StaticString, of proc: ProcReader, otherwise: UInt64
  ) -> UInt64 {
    let descriptor = proc.open(named: path)
    guard descriptor >= 0 else { return otherwise }
    var status = pm_file_status()
    let found = unsafe pm_fstat(descriptor, &status) == 0
    _ = pm_close(descriptor)
    return found ? status.inode : 0
  }
}

/// The process's identity in a run record; known at install, but for a forked child.
@safe
struct RunFacts {
  var startTime: UInt64
  var stackStart: UInt64
  var processNamespace: UInt64
  var timeNamespace: UInt64
  let launchTime: Int64
  let bootID: UnsafeRawPointer
  let bootIDCount: Int
  /// False in a forked child until it has read its own.
  var isOfThisProcess = true
}

/// One page of this process's own run record, mapped and never touched, as a witness that the
/// process lives: neither close_range(2) nor a loop of close(2) takes it away, only the end of the
/// process and exec do.
///
/// The mapping keeps the file open for writing in the kernel's count of writers, so that nobody gets
/// a read lease on it; across PID namespaces, and without a lock. Children do not inherit it. On
/// overlayfs the mapping belongs to the file below and does not show: so `startHandler` asks first.
///
/// RUNS-DURING-CRASH. Source: mmap(2), "closing the file descriptor does not unmap the region";
/// fcntl(2), F_SETLEASE; Linux fs/locks.c, check_conflicting_open; fs/backing-file.c,
/// backing_file_mmap.
struct RecordMapping: Sendable {
  private var address: UInt = 0

  /// None.
  @_noLocks
  init() {}

  /// Maps a file that is open for reading and writing; none if the kernel refuses.
  @_noLocks
  init(of descriptor: Int32) {
    let result = pm_map_unreadable(descriptor)
    guard result > 0 else { return }
    address = UInt(bitPattern: result)
    // A child that outlives its parent must not keep it mapped.
    if pm_keep_from_children(address) != 0 { remove() }
  }

  var isMapped: Bool { @_noLocks get { address != 0 } }

  /// Unmaps it; nothing if there is none.
  @_noLocks
  mutating func remove() {
    guard address != 0 else { return }
    _ = pm_unmap_page(address)
    address = 0
  }
}
