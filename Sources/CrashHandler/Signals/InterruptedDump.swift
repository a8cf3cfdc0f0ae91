internal import CSignalSafe

/// A signal on a thread that captures, or takes a dump without a crash.
///
/// RUNS-DURING-CRASH, on that thread.
extension Capture {
  /// Handles a signal on a thread that takes a dump without a crash.
  ///
  /// - Returns: true if the signal is dealt with; false if the thread takes no such dump, or if the signal is a
  ///   crash: the dump is abandoned then.
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
  /// A requested dump uses the handler's own stack, which the dump of a crash needs. A fault outside a section
  /// cannot be postponed: its instruction runs again.
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
    // The end has begun, and another signal arrived before the thread was back at its crash: a filter that traps
    // rt_sigreturn does that.
    if isEnding, signal.number != session.exception.signal.number { endLate() }
    SignalMask.open(installed.signals.capture)
    if session.recoveryPoints.recover(signal) { return }
    // No recovery point: a fault before the first section or after the last, or the crash again. The flushed part
    // is on disk. A fault of another number is a consequence of the crash: the process ends by the crash's signal.
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
