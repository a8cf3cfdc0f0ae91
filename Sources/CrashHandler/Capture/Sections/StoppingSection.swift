internal import CSignalSafe
internal import IntermediateDump

extension SectionRow {
  static var stopThreads: SectionRow {
    @_noLocks get { unsafe SectionRow(.stopThreads, pm_stop_threads) }
  }
}

/// Stops all other threads, or those that the dump's request names; writes nothing.
///
/// RUNS-DURING-CRASH.
@c(pm_stop_threads) @_noLocks
func pm_stop_threads(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  ThreadStopper(capture).stopAll()
  capture.session.resident.forget()
}
