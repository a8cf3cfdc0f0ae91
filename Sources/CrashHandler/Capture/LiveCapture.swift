internal import IntermediateDump

/// Takes a dump of a process that has not crashed.
///
/// The dump has the same sections as the dump of a crash, but a separate file. A `LiveDump` also has a separate stack
/// and separate memory.
///
/// The process continues afterward, so the limit on file sizes is not raised, and nothing is printed.
///
/// RUNS-DURING-CRASH; called by `LiveDump` and `takeRequestedDump`, on the thread that takes the dump. Source:
/// Crashpad `client/ios_handler/in_process_handler.cc`, DumpExceptionFromSimulatedMachException.
@c(pm_capture_dump) @_noLocks
func pm_capture_dump(_ argument: UnsafeMutableRawPointer) {
  unsafe Capture(argument).captureLiveDump()
}

extension Capture {
  fileprivate func captureLiveDump() {
    // A `LiveDump` is taken on a separate stack, so a fault can be handled on the thread's alternate stack or, without
    // one, on the dump's stack.
    // A thread that takes a requested dump is inside a signal handler, and the signal's frame may be on the alternate
    // stack. So faults during the dump are handled on another stack.
    if session.request.isFromTool { setFaultStack() }
    session.time.division = CaptureTime(limit: installed.timeLimit)
    // As in a crash, the timer limits the time for which threads are stopped. A `LiveDump` that stops no threads has no
    // timer.
    armTimer(milliseconds: session.time.division.sections)
    writeDump()
    // The calls below may need a thread that was stopped, if that thread serves a seccomp filter's notifications.
    if session.request.stopsThreads { releaseThreads() }
    closeResidentPages()
    disarmTimer()
  }
}
