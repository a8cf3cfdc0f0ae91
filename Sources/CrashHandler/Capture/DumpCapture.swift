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
  let state = unsafe argument.assumingMemoryBound(to: HandlerState.self)
  // The dump is on a stack of its own: a fault comes to the thread's alternate stack, or to this one.
  unsafe state.pointee.hasFaultStack = true
  unsafe state.pointee.captureTime = CaptureTime(limit: state.pointee.timeLimit)
  // Threads that stand still must not do so for longer than in a crash; without them there is no
  // timer.
  unsafe arm(state, milliseconds: state.pointee.captureTime.sections)
  unsafe captureDump(state)
  unsafe arm(state, milliseconds: 0)
  if unsafe state.pointee.request.stops != .none { unsafe ThreadStopper(state).releaseAll() }
}

/// What a signal on a thread that dumps means.
///
/// RUNS-DURING-CRASH, on that thread.
@safe
struct InterruptedDump {
  private let dump: UnsafeMutablePointer<HandlerState>

  @_noLocks
  init(_ dump: UnsafeMutablePointer<HandlerState>) {
    unsafe self.dump = dump
  }

  /// True if it was a fault of a section, which is broken off; false for a crash.
  @_noLocks
  func land(
    _ signal: Int32, _ information: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?
  ) -> Bool {
    guard let information = unsafe information,
      unsafe !CrashEnd.wasSent(signal, code: pm_siginfo_code(information))
    else { return false }
    return unsafe CrashEnd(dump).landIfArmed(signal, context)
  }

  /// Gives up what the dump holds of the handler's, because the thread crashed.
  @_noLocks
  func abandon(_ threadID: Int32, for state: UnsafeMutablePointer<HandlerState>) {
    unsafe dump.pointee.dumpingThreads.remove(threadID)
    guard unsafe dump.pointee.owner.value == UInt32(bitPattern: threadID) else { return }
    _ = unsafe WatchdogTimer.set(dump.pointee.timer, milliseconds: 0, interval: 0)
    unsafe ThreadStopper(dump).releaseAll()
    unsafe dump.pointee.threads.removeAll()
    // The crash stops them again, by another number.
    unsafe state.pointee.stopCount = dump.pointee.stopCount
    unsafe dump.pointee.owner.store(0)
  }
}
