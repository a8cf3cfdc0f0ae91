internal import IntermediateDump

/// Writes every thread except the one that the exception names.
///
/// RUNS-DURING-CRASH.
@c(pm_write_threads) @_noLocks
func pm_write_threads(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  let threads = capture.session.threads
  capture.writer.startArray(.threads)
  // In a dump of a hang, the table also has the hung thread, which an earlier section has written.
  ThreadWriter(capture).writeAll(
    of: threads, except: capture.session.exception.threadID,
    limit: stackShare(capture.installed.limits, threads: threads.count))
  capture.writer.end()
}

/// Returns the maximum number of bytes that are written of each stack: an equal share of `otherThreadStacks`, but at
/// least 1 KiB and at most `otherThreadStack`.
private func stackShare(_ limits: CaptureLimits, threads: Int) -> Int {
  var share = limits.otherThreadStacks.dividedReportingOverflow(by: threads).partialValue
  if share < 1024 { share = 1024 }
  return share < limits.otherThreadStack ? share & ~15 : limits.otherThreadStack
}
