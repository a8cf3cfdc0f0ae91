internal import IntermediateDump

/// Writes the `capture` map: how complete the dump is.
///
/// RUNS-DURING-CRASH.
@safe
struct CaptureSection {
  private let counts: Session.Counts
  private let abandoned: UInt64
  private let clock: UInt64
  private let entryTime: UInt64
  private let output: DumpOutput

  /// - Parameters:
  ///   - abandoned: the sections that were, by bits.
  ///   - clock: now, and `entryTime`: of the handler's entry, in nanoseconds; 0 if unknown.
  @_noLocks
  init(
    _ counts: Session.Counts, abandoned: UInt64, clock: UInt64, entryTime: UInt64,
    output: DumpOutput
  ) {
    self.counts = counts
    self.abandoned = abandoned
    self.clock = clock
    self.entryTime = entryTime
    self.output = output
  }

  /// - Parameter unlisted: threads found that are not in the table.
  @_noLocks
  func write(_ threads: ThreadTable, unlisted: UInt64) {
    var stopped: UInt64 = 0
    var found = unlisted
    var index = 0
    let count = threads.count
    while index < count {
      let status = threads[index].status
      if status.isStill { stopped &+= 1 }
      if !status.isGone { found &+= 1 }
      index &+= 1
    }
    output.startMap(.capture)
    if counts.notShown & NotShown.threads.bit == 0 { output.unsigned(.threadsFound, found) }
    output.unsigned(.threadsStopped, stopped)
    output.unsigned(.threadsReadFromKernel, counts.threadsReadFromKernel)
    output.unsigned(.threadsOmitted, counts.threadsOmitted)
    output.unsigned(.sectionsAbandoned, abandoned)
    if counts.notShown != 0 { output.unsigned(.notShown, counts.notShown) }
    output.unsigned(.bytesOmitted, output.bytesOmitted)
    if clock != 0 && entryTime != 0 { output.unsigned(.captureTime, clock &- entryTime) }
    output.end()
  }
}
