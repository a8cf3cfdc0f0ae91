internal import CSignalSafe
internal import IntermediateDump

/// Takes a dump without a crash: the sections of a crash, on the dump's own stack, file and memory.
///
/// The process continues, so the dump changes nothing in it: it raises no limit and prints nothing.
///
/// RUNS-DURING-CRASH; called by `LiveDump` and `takeRequestedDump`, on the thread that dumps. Source:
/// Crashpad `client/ios_handler/in_process_handler.cc`, DumpExceptionFromSimulatedMachException.
@c(pm_capture_dump) @_noLocks
func pm_capture_dump(_ argument: UnsafeMutableRawPointer) {
  unsafe Capture(argument).captureLiveDump()
}

extension Capture {
  fileprivate func captureLiveDump() {
    if session.request.isFromTool {
      // It is inside a signal's handler, whose frame is on the alternate stack.
      setFaultStack()
    } else {
      // The dump is on a stack of its own: a fault comes to the thread's alternate stack, or to this
      // one.
      session.hasFaultStack = true
    }
    session.time.division = CaptureTime(limit: installed.timeLimit)
    // Threads that are stopped must not do so for longer than in a crash; without them there is no
    // timer.
    armTimer(milliseconds: session.time.division.sections)
    writeDump()
    closeResidentPages()
    disarmTimer()
    if session.request.stopsThreads { releaseThreads() }
  }
}
