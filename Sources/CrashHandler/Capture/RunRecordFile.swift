internal import CSignalSafe
internal import IntermediateDump

/// The run record beside a locked file that is not made by `startHandler`: a forked child's, or the
/// next one of a process that goes on after a crash.
///
/// RUNS-DURING-CRASH. Source: `RunRecord`, which writes the first one.
@safe
struct RunRecordFile {
  private let state: UnsafeMutablePointer<HandlerState>

  @_noLocks
  init(_ state: UnsafeMutablePointer<HandlerState>) {
    unsafe self.state = state
  }

  /// Writes it to an open file.
  ///
  /// - Parameter isMapped: whether this process maps that file, as `RecordMapping` has it.
  /// - Returns: false if it did not become whole; a reader then takes it for none.
  @_noLocks
  func write(to descriptor: Int32, isMapped: Bool) -> Bool {
    if unsafe state.pointee.isForkedChild && !state.pointee.run.isOfThisProcess { readProcess() }
    let half = unsafe state.pointee.scratchSize / 2
    let run = unsafe state.pointee.run
    var writer = unsafe IntermediateDumpWriter(
      buffer: state.pointee.scratch + half, capacity: half, descriptor: descriptor,
      byteLimit: UInt64.max)
    writer.header()
    writer.startMap(.owner)
    // First, because notes and beat are written over in place.
    if unsafe state.pointee.followsRun {
      unsafe writer.encoded(
        state.pointee.encodedCourse, count: state.pointee.encodedCourseCount)
    }
    writer.unsigned(
      .ownerProcessID, UInt64(UInt32(bitPattern: unsafe state.pointee.processID)), width: 4)
    writer.unsigned(.ownerStartTime, run.startTime)
    writer.unsigned(.ownerStackStart, run.stackStart)
    unsafe writer.property(.ownerBootID, run.bootID, count: run.bootIDCount)
    writer.unsigned(.ownerProcessNamespace, run.processNamespace)
    writer.signed(.ownerLaunchTime, run.launchTime)
    writer.unsigned(.ownerTimeNamespace, run.timeNamespace)
    writer.unsigned(.ownerIsMapped, isMapped ? 1 : 0, width: 1)
    unsafe writer.unsigned(.ownerCrashSignals, state.pointee.crashSignals)
    unsafe writer.unsigned(
      .ownerStopSignal, UInt64(UInt32(bitPattern: state.pointee.stopSignal)), width: 4)
    unsafe writer.unsigned(
      .ownerWatchdogSignal, UInt64(UInt32(bitPattern: state.pointee.watchdogSignal)), width: 4)
    if unsafe state.pointee.survivedCrashes > 0 {
      unsafe writer.property(.continuesReport, state.pointee.precedingReport, count: 16)
    }
    writer.end()
    return writer.endDocument()
  }

  /// Reads who a forked child is, which its parent's record does not tell.
  @_noLocks
  private func readProcess() {
    let procFile = unsafe ProcFile(proc: state.pointee.procDescriptor)
    unsafe state.pointee.run.startTime = 0
    unsafe state.pointee.run.stackStart = 0
    unsafe state.pointee.run.isOfThisProcess = true
    let place = unsafe state.pointee.scratch
    let count = unsafe procFile.read(
      literal("self/stat"), into: place, capacity: state.pointee.scratchSize / 2)
    // Field 2, the name, may hold blanks and parentheses; no later field does.
    var start = count
    while start > 0,
      unsafe place.loadUnaligned(fromByteOffset: start &- 1, as: UInt8.self) != 0x29
    {
      start &-= 1
    }
    var scanner = unsafe TextScanner(place + start, count: count &- start)
    var field = 3
    while field <= 28, !scanner.isAtEnd {
      scanner.skipBlanks()
      if field == 22 { unsafe state.pointee.run.startTime = scanner.decimal() }
      if field == 28 { unsafe state.pointee.run.stackStart = scanner.decimal() }
      scanner.skipWord()
      field &+= 1
    }
    // A child can be the first process of a namespace that its parent made.
    let parent = unsafe (state.pointee.run.processNamespace, state.pointee.run.timeNamespace)
    unsafe state.pointee.run.processNamespace = namespace(
      literal("self/ns/pid"), of: procFile, otherwise: parent.0)
    unsafe state.pointee.run.timeNamespace = namespace(
      literal("self/ns/time"), of: procFile, otherwise: parent.1)
  }

  /// A namespace's inode; 0 if it cannot be looked at, the other number if it cannot be opened.
  @_noLocks
  private func namespace(
    _ path: UnsafePointer<CChar>, of procFile: ProcFile, otherwise: UInt64
  ) -> UInt64 {
    let descriptor = unsafe procFile.open(path)
    guard descriptor >= 0 else { return otherwise }
    var status = pm_file_status()
    let found = unsafe pm_fstat(descriptor, &status) == 0
    _ = pm_close(descriptor)
    return found ? status.inode : 0
  }

  @_noLocks
  private func literal(_ text: StaticString) -> UnsafePointer<CChar> {
    unsafe UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
  }
}
