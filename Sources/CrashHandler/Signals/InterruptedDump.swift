internal import CSignalSafe

/// Handles a signal on a thread that is already taking a dump, whether or not the process has crashed.
///
/// RUNS-DURING-CRASH, on the thread that takes the dump.
extension Capture {
  /// Handles a signal on a thread that is taking a dump for a reason other than a crash.
  ///
  /// - Returns: true if nothing more needs to be done about the signal. False if the thread takes no such dump, or if
  ///   the signal is a crash. In case of a crash, this function abandons the dump, and the caller handles the crash
  ///   like any other.
  @_noLocks
  func recoverLiveDump(from signal: DeliveredSignal, on threadID: Int32) -> Bool {
    guard let dump = liveDump(takenBy: threadID) else { return false }
    // After a fault, the dump continues at the recovery point of the section or, outside of sections, at that of the
    // dump.
    if signal.isFault && dump.session.recoveryPoints.recover(signal) { return true }
    if dump.postpone(signal) { return true }
    dump.abandon()
    return false
  }

  /// Stores a sent signal that arrives during a dump that `postmortem capture` requested; returns false in all other
  /// cases.
  ///
  /// The handler sends the signal again when the dump is done.
  ///
  /// The requested dump uses the handler's large stack, which the dump of a crash would overwrite. A fault outside a
  /// section cannot be postponed, because the faulting instruction would run again immediately; so the requested dump is
  /// abandoned.
  private func postpone(_ signal: DeliveredSignal) -> Bool {
    guard session.request.isFromTool, signal.isAsynchronous, let information = signal.information
    else { return false }
    shared.postponed.keep(information)
    return true
  }

  /// Abandons the dump, because the thread that takes it crashed.
  ///
  /// If the thread is the capturing thread, the stopped threads continue, the timer stops, and the thread is no longer
  /// the capturing thread.
  private func abandon() {
    let threadID = pm_gettid()
    shared.dumpingThreads.remove(threadID)
    guard shared.capturingThread.value == UInt32(bitPattern: threadID) else { return }
    disarmTimer()
    shared.stops.isPending = true
    releaseThreads()
    shared.foundThreads.removeAll()
    shared.leaveTurn()
  }

  /// Handles a signal on the capturing thread, which the thread stays until its crash has been handled.
  ///
  /// The first signal that another process or the kernel sent is stored, and is sent again if the process survives the
  /// crash; later ones are dropped. After any other signal, such as a fault, the thread continues at the innermost
  /// recovery point. If there is none, the process ends by the crash's signal if the crash's outcome is that the
  /// process ends; otherwise, the previous action of the new signal follows.
  @_noLocks
  func recoverCapture(from call: HandlerCall) {
    let signal = call.signal
    if mustPostpone(signal) {
      if let information = signal.information { shared.postponed.keep(information) }
      return
    }
    // Another signal can arrive after `endProcess` has begun and before the thread returns to the crashing instruction,
    // for example if a seccomp filter traps rt_sigreturn.
    if isEnding, signal.number != session.exception.signal.number { forceEnd() }
    SignalMask.unblock(installed.signals.faults | tick)
    if session.recoveryPoints.recover(signal) { return }
    // If no recovery point is armed, a fault occurred before or after `writeDump`, or the crash has occurred again. In
    // both cases, nothing more can be written. A fault with another signal number is only a consequence of the crash,
    // so the crash's signal must end the process.
    let crash = session.exception.signal.number
    if session.exception.outcome.isEnd, crash != 0, signal.number != crash, !signal.isAsynchronous {
      forceEnd()
    }
    shared.timesReraised &+= 1
    endProcess(by: call)
  }

  /// True for a signal that another process or the kernel sent, and that is not the crash itself.
  ///
  /// Such a signal must not end the process, because the report would not name the signal. It can arrive before the
  /// dump, while the dump is written, while Swift's backtracer runs, and while the process ends. While the process is
  /// ending, a signal with the crash's number may be the crash itself, because `restoreAndReraise` queues the crash's
  /// signal with its original sender.
  private func mustPostpone(_ signal: DeliveredSignal) -> Bool {
    guard signal.isForeign(to: shared.process.id) else { return false }
    return !isEnding || signal.number != session.exception.signal.number
  }
}
