internal import CSignalSafe

/// A signal on a thread that captures, or takes a dump without a crash.
///
/// RUNS-DURING-CRASH, on that thread.
extension Capture {
  /// Tells what a signal means to a dump without a crash that the thread takes; false if the signal is a
  /// crash, or the thread takes none.
  @_noLocks
  func recoverLiveDump(from signal: DeliveredSignal) -> Bool {
    guard let dump = dump(takenBy: pm_gettid()) else { return false }
    // A fault of a section, which is broken off.
    if signal.isFault && dump.session.recoveryPoints.recover(signal) { return true }
    if dump.postpone(signal) { return true }
    dump.abandon()
    return false
  }

  /// Has a signal that was sent, and no fault, come again when a requested dump is done.
  ///
  /// That dump is on the handler's own stack, which the crash's needs. A fault that no section has raised
  /// would only come again.
  private func postpone(_ signal: DeliveredSignal) -> Bool {
    guard session.request.isTools, signal.isAsynchronous, let information = signal.information
    else { return false }
    shared.waiting.signal.keep(information)
    return true
  }

  /// Gives up the handler's things that the dump holds, because the thread crashed.
  private func abandon() {
    let threadID = pm_gettid()
    shared.dumpingThreads.remove(threadID)
    guard shared.capturingThread.value == UInt32(bitPattern: threadID) else { return }
    stopTimer()
    releaseThreads()
    shared.threads.removeAll()
    shared.capturingThread.store(0)
  }

  /// True if the calling thread captures a crash.
  var isCapturing: Bool {
    @_noLocks get { shared.capturingThread.value == UInt32(bitPattern: pm_gettid()) }
  }

  /// Does what a signal on the capturing thread asks for: a fault of the handler itself comes back to its
  /// recovery point, and a signal that was sent is kept for a process that lives on.
  @_noLocks
  func recoverCapture(from call: HandlerCall) {
    let signal = call.signal
    if isForeign(signal) {
      if let information = signal.information { shared.waiting.signal.keep(information) }
      return
    }
    // The default action follows, and the thread did not get back to its crash, as under a filter that
    // traps rt_sigreturn.
    if isEnding, signal.number != session.exception.signal.number { endLate() }
    SignalMask.open(installed.signals.capture)
    if session.recoveryPoints.recover(signal) { return }
    // A fault before the first section or behind the last, or the crash again. The flushed part is
    // on disk; end as we would have ended. Not by the signal of a fault that the crash has brought
    // about, as where a filter traps rt_sigreturn.
    let crash = session.exception.signal.number
    if session.exception.outcome.isEnd, crash != 0, signal.number != crash, !signal.isAsynchronous {
      endLate()
    }
    shared.timesReturned &+= 1
    endProcess(by: call)
  }

  /// True for a signal that somebody sends to the capturing thread while it dumps, and for one of
  /// another number once the end is under way: the process would end by a signal that its report
  /// does not name.
  ///
  /// With the same number, it may be the crash again: `passOn` sends it in its sender's name.
  private func isForeign(_ signal: DeliveredSignal) -> Bool {
    guard signal.isForeign(to: shared.process.id) else { return false }
    return shared.ending.value == 0
      || isEnding && signal.number != session.exception.signal.number
  }
}
