internal import CSignalSafe
internal import IntermediateDump

/// Takes a dump without a crash: the sections of a crash, on the dump's own stack, file and memory.
///
/// The process lives on, so nothing of it is changed: no limit is raised, nothing is printed.
///
/// RUNS-DURING-CRASH; called by `LiveDump`, on the thread that dumps. Source: Crashpad
/// `client/ios_handler/in_process_handler.cc`, DumpExceptionFromSimulatedMachException.
@c(pm_capture_dump) @_noLocks
func pm_capture_dump(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  // The dump is on a stack of its own: a fault comes to the thread's alternate stack, or to this one.
  capture.session.hasFaultStack = true
  capture.session.time.division = CaptureTime(limit: capture.installed.timeLimit)
  // Threads that stand still must not do so for longer than in a crash; without them there is no
  // timer.
  arm(capture, milliseconds: capture.session.time.division.sections)
  captureDump(capture)
  arm(capture, milliseconds: 0)
  if capture.session.request.stopsThreads { ThreadStopper(capture).releaseAll() }
}

/// What a signal on a thread that dumps means.
///
/// RUNS-DURING-CRASH, on that thread.
@safe
struct InterruptedDump {
  private let dump: Capture

  @_noLocks
  init(_ dump: Capture) {
    self.dump = dump
  }

  /// True if it was a fault of a section, which is broken off; false for a crash.
  @_noLocks
  func land(_ signal: DeliveredSignal) -> Bool {
    signal.isFault && dump.session.landingPads.landFault(signal)
  }

  /// Gives up what the dump holds of the handler's, because the thread crashed.
  @_noLocks
  func abandon(_ threadID: Int32) {
    dump.shared.dumpingThreads.remove(threadID)
    guard dump.shared.owner.value == UInt32(bitPattern: threadID) else { return }
    _ = WatchdogTimer.set(dump.session.time.timer, milliseconds: 0, interval: 0)
    ThreadStopper(dump).releaseAll()
    dump.shared.threads.removeAll()
    dump.shared.owner.store(0)
  }
}
