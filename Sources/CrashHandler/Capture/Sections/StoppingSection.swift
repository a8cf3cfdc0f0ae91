/// Finds the other threads, and stops those that the dump's request selects; writes nothing.
///
/// RUNS-DURING-CRASH.
@c(pm_stop_threads) @_noLocks
func pm_stop_threads(_ argument: UnsafeMutableRawPointer) {
  ThreadStopper(unsafe Capture(argument)).stopAll()
}
