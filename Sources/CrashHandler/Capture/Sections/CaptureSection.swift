internal import CSignalSafe
internal import IntermediateDump

/// Writes the tokens that were encoded at launch: the system, and `startHandler`'s annotations.
///
/// Launch facts of the process are at the beginning of the dump; `pm_write_client` writes later
/// annotations.
///
/// RUNS-DURING-CRASH.
@c(pm_write_facts) @_noLocks
func pm_write_facts(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  capture.installed.encoded.system.write(to: &capture.session.writer)
}

/// Writes the `capture` map: how complete the dump is.
///
/// RUNS-DURING-CRASH.
@c(pm_write_capture) @_noLocks
func pm_write_capture(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  var stopped: UInt64 = 0
  var found: UInt64 = 0
  var index = 0
  let count = capture.session.threads.count
  while index < count {
    let status = capture.session.threads[index].status
    if status.isStill { stopped &+= 1 }
    if !status.isGone { found &+= 1 }
    index &+= 1
  }
  capture.session.writer.startMap(.capture)
  // The capturing thread is not in the table, unless it captures another one's hang.
  if !capture.session.request.isHang { found &+= 1 }
  capture.session.writer.unsigned(.threadsFound, found)
  capture.session.writer.unsigned(.threadsStopped, stopped)
  capture.session.writer.unsigned(
    .threadsReadFromKernel, capture.session.counts.threadsReadFromKernel)
  capture.session.writer.unsigned(.threadsOmitted, capture.session.counts.threadsOmitted)
  capture.session.writer.unsigned(.sectionsAbandoned, capture.session.progress.abandoned)
  capture.session.writer.unsigned(.bytesOmitted, capture.session.writer.bytesOmitted)
  let now = capture.makes(CallBit.clocks) ? pm_monotonic_clock() : 0
  if now != 0 && capture.session.exception.entryTime != 0 {
    capture.session.writer.unsigned(.captureTime, now &- capture.session.exception.entryTime)
  }
  capture.session.writer.end()
}
