internal import CSignalSafe
internal import IntermediateDump

/// What was decided at install: the system's facts and the program's annotations.
///
/// RUNS-DURING-CRASH.
@c(pm_write_facts) @_noLocks
func pm_write_facts(_ argument: UnsafeMutableRawPointer) {
  let state = unsafe argument.assumingMemoryBound(to: HandlerState.self)
  unsafe state.pointee.writer.encoded(
    state.pointee.encodedFacts, count: state.pointee.encodedFactsCount)
}

/// How well it went.
///
/// RUNS-DURING-CRASH.
@c(pm_write_capture) @_noLocks
func pm_write_capture(_ argument: UnsafeMutableRawPointer) {
  let state = unsafe argument.assumingMemoryBound(to: HandlerState.self)
  var stopped: UInt64 = 0
  var found: UInt64 = 0
  var index = 0
  let count = unsafe state.pointee.threads.count
  while index < count {
    let status = unsafe state.pointee.threads[index].status
    if status == .stopped || status == .alsoCrashed { stopped &+= 1 }
    if status != .gone { found &+= 1 }
    index &+= 1
  }
  unsafe state.pointee.writer.startMap(.capture)
  // The capturing thread is not in the table, unless it captures another one's hang.
  if unsafe state.pointee.request.kind != .hang { found &+= 1 }
  unsafe state.pointee.writer.unsigned(.threadsFound, found)
  unsafe state.pointee.writer.unsigned(.threadsStopped, stopped)
  unsafe state.pointee.writer.unsigned(
    .threadsReadFromKernel, state.pointee.threadsReadFromKernel)
  unsafe state.pointee.writer.unsigned(.threadsOmitted, state.pointee.threadsOmitted)
  unsafe state.pointee.writer.unsigned(.sectionsAbandoned, state.pointee.sectionsAbandoned)
  unsafe state.pointee.writer.unsigned(.bytesOmitted, state.pointee.writer.bytesOmitted)
  let now = unsafe state.pointee.makes(CallBit.clocks) ? pm_monotonic_clock() : 0
  if unsafe now != 0 && state.pointee.entryTime != 0 {
    unsafe state.pointee.writer.unsigned(.captureTime, now &- state.pointee.entryTime)
  }
  unsafe state.pointee.writer.end()
}
