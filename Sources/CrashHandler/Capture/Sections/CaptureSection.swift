internal import IntermediateDump

/// Writes the `capture` map, which shows how complete the dump is.
///
/// RUNS-DURING-CRASH.
@c(pm_write_capture) @_noLocks
func pm_write_capture(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  capture.writer.startMap(.capture)
  // This property is written first, so that the dump contains it even if this section is interrupted.
  capture.writer.unsigned(.sectionsAbandoned, capture.session.progress.abandoned)
  let (counts, threads) = (capture.session.counts, capture.session.threads)
  var stopped: UInt64 = 0
  // The capturing thread is counted here, unless it captures another thread's hang. In that case, it is in the table of
  // threads.
  var found: UInt64 = capture.capturesItself ? 1 : 0
  for index in Indices(threads.count) {
    let status = threads[index].status
    if status.isStill { stopped &+= 1 }
    if !status.isGone { found &+= 1 }
  }
  if counts.notShown & NotShown.threads.bit == 0 {
    capture.writer.unsigned(.threadsFound, found)
  }
  capture.writer.unsigned(.threadsStopped, stopped)
  capture.writer.unsigned(.threadsReadFromKernel, counts.threadsReadFromKernel)
  capture.writer.unsigned(.threadsOmitted, counts.threadsOmitted)
  capture.writer.unsigned(.modulesOmitted, capture.images.images.omitted)
  if counts.notShown != 0 { capture.writer.unsigned(.notShown, counts.notShown) }
  let omitted = capture.writer.bytesOmitted
  capture.writer.unsigned(.bytesOmitted, omitted)
  let (clock, entryTime) = (capture.clock, capture.session.exception.entryTime)
  if clock != 0 && entryTime != 0 { capture.writer.unsigned(.captureTime, clock &- entryTime) }
  capture.writer.end()
}
