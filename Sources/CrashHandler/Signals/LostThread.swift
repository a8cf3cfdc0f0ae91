internal import CSignalSafe

/// Replaces a capturing thread that no longer exists.
///
/// A seccomp filter may end a single thread because of a system call (SECCOMP_RET_KILL_THREAD). No handler runs then,
/// and the other threads continue. Each thread that waits for the capturing thread, and a thread that gets a tick of its
/// timer, calls `replaceLostThread`.
///
/// RUNS-DURING-CRASH, on any thread, with the handler's own `Capture`. Source: seccomp(2).
extension Capture {
  /// Ends the process with the signal of the crash, if the capturing thread no longer exists.
  ///
  /// If the process would have continued after the capture, the stopped threads resume instead.
  @inline(never) @_noLocks
  func replaceLostThread() {
    let lost = shared.capturingThread.value
    let this = UInt32(bitPattern: pm_gettid())
    guard shared.hasLostThread,
      shared.capturingThread.exchange(expected: lost, desired: this) == lost
    else { return }
    shared.capturingThreadPlace = pm_thread_id_place(this)
    let thread = Int32(bitPattern: lost)
    if endsByCrash(of: thread) {
      shared.ending.store(Shared.Ending.now)
      forceEnd()
    }
    // The lost thread had itself replaced the crashed thread, and could not end the process by the signal.
    if isEnding { _ = pm_exit_group(128 &+ session.exception.signal.number) }
    shared.dumpingThreads.remove(thread)
    releaseThreads()
    shared.foundThreads.removeAll()
    shared.endTurn()
  }

  /// True if the thread captures a crash that ends the process.
  @_noLocks
  func endsByCrash(of thread: Int32) -> Bool {
    session.exception.threadID == thread && session.exception.outcome.isEnd
      && liveDump(takenBy: thread) == nil
  }
}
