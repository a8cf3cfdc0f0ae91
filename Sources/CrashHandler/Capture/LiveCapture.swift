internal import IntermediateDump

/// Takes a dump of a process that has not crashed.
///
/// The sections are those of a crash dump, but the stack, the file and the memory are separate.
///
/// The process continues afterward, so the capture raises no limit and prints nothing.
///
/// RUNS-DURING-CRASH; called by `LiveDump` and `takeRequestedDump`, on the thread that takes the dump. Source:
/// Crashpad `client/ios_handler/in_process_handler.cc`, DumpExceptionFromSimulatedMachException.
@c(pm_capture_dump) @_noLocks
func pm_capture_dump(_ argument: UnsafeMutableRawPointer) {
  unsafe Capture(argument).captureLiveDump()
}

extension Capture {
  fileprivate func captureLiveDump() {
    if session.request.isFromTool {
      // The thread is inside a signal handler, whose frame is on the alternate stack.
      setFaultStack()
    } else {
      // The dump runs on a separate stack. So a fault is handled on the thread's alternate stack, or on the dump's
      // stack.
      session.hasFaultStack = true
    }
    session.time.division = CaptureTime(limit: installed.timeLimit)
    // The timer limits the time for which threads are stopped, as in a crash. If no threads are stopped, there is no
    // timer.
    armTimer(milliseconds: session.time.division.sections)
    writeDump()
    closeResidentPages()
    disarmTimer()
    if session.request.stopsThreads { releaseThreads() }
  }
}
