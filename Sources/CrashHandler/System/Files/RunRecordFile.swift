internal import CSignalSafe
internal import IntermediateDump

/// Creates the run record for a locked file that `startHandler` did not create.
///
/// Such a file belongs to a forked child or to a requested dump, or is the next file of a process that continues
/// after a crash.
///
/// RUNS-DURING-CRASH. `RunRecord` writes the first run record of a process.
extension Capture {
  /// Writes the run record to an open file.
  ///
  /// - Parameter isMapped: true if this process maps the file (`RecordMapping`).
  /// - Returns: false if the record is incomplete; readers ignore such a record.
  @_noLocks
  func writeRunRecord(to descriptor: Int32, isMapped: Bool) -> Bool {
    let half = session.scratch.size / 2
    let run = runIdentity()
    var writer = unsafe IntermediateDumpWriter(
      buffer: session.scratch.address + half, capacity: half, descriptor: descriptor,
      byteLimit: UInt64.max)
    writer.header()
    writer.startMap(.owner)
    // The notes and the heartbeat come first, because they are later overwritten at fixed offsets.
    if session.runRecord.isFollowed {
      writer.encoded(installed.encoded.course)
    }
    var properties = OwnerProperties()
    properties.processID = UInt32(bitPattern: shared.process.id)
    properties.startTime = run.startTime
    properties.stackStart = run.stackStart
    properties.processNamespace = run.processNamespace
    properties.timeNamespace = run.timeNamespace
    properties.isMapped = isMapped
    properties.takesRequests = installed.takesRequests
    properties.launchTime = run.launchTime
    properties.toldStacks = pm_told_stacks_place()
    properties.signals = OwnerSignals(
      crash: installed.signals.crashes, stop: UInt32(bitPattern: installed.signals.stop),
      watchdog: UInt32(bitPattern: installed.signals.watchdog))
    unsafe properties.write(to: &writer, bootID: run.bootID, count: run.bootIDCount)
    if session.request.isCrash && shared.survived.count > 0 {
      unsafe writer.property(.continuesReport, shared.survived.report, count: 16)
    }
    writer.end()
    return writer.endDocument()
  }

  /// The facts that identify this process; a forked child cannot use those of its parent.
  private func runIdentity() -> RunIdentity {
    let known = shared.process.run
    guard shared.process.isForkedChild && !known.isOfThisProcess else { return known }
    let own = readRunIdentity(over: known)
    // The facts are stored only in a crash, when only one thread takes a dump. Several threads may take dumps without a
    // crash at once, so each of them reads the facts again.
    if session.request.isCrash { shared.process.run = own }
    return own
  }

  private func readRunIdentity(over parent: RunIdentity) -> RunIdentity {
    var run = parent
    run.startTime = 0
    run.stackStart = 0
    run.isOfThisProcess = true
    let scratch = session.scratch.firstHalf
    let count = unsafe proc.read(
      named: "self/stat", into: scratch.address, capacity: scratch.size)
    if let line = ThreadLine(scratch.bytes(count: count)) {
      run.startTime = line.startTime
      run.stackStart = line.stackStart
    }
    // A forked child can be the first process of a PID namespace that its parent created, so its namespaces are read
    // again.
    run.processNamespace = namespaceNumber(
      "thread-self/ns/pid", otherwise: parent.processNamespace)
    run.timeNamespace = namespaceNumber("thread-self/ns/time", otherwise: parent.timeNamespace)
    return run
  }

  /// Returns a namespace's inode number; 0 if the status of its file cannot be read; `otherwise` if the file cannot
  /// be opened.
  private func namespaceNumber(_ path: StaticString, otherwise: UInt64) -> UInt64 {
    let descriptor = proc.open(named: path)
    guard descriptor >= 0 else { return otherwise }
    var status = pm_file_status()
    let found = unsafe pm_fstat(descriptor, &status) == 0
    proc.close(descriptor)
    return found ? status.inode : 0
  }
}
