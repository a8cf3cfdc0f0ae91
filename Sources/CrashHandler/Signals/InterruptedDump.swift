internal import CSignalSafe

/// Handles a signal on a thread that captures a crash or takes any other dump.
///
/// RUNS-DURING-CRASH, on the thread that takes the dump.
extension Capture {
  /// Handles a signal on a thread that takes a dump other than a crash's.
  ///
  /// - Returns: true if nothing more needs to be done about the signal. False if the thread takes no such dump, or if
  ///   the signal is a crash. In the latter case the dump is abandoned, and the crash is handled like any other.
  @_noLocks
  func recoverLiveDump(from signal: DeliveredSignal) -> Bool {
    guard let dump = dump(takenBy: pm_gettid()) else { return false }
    // A fault in a section only ends that section early.
    if signal.isFault && dump.session.recoveryPoints.recover(signal) { return true }
    if dump.postpone(signal) { return true }
    dump.abandon()
    return false
  }

  /// Keeps a signal that another process sent, to send it again when the requested dump is done.
  ///
  /// A requested dump uses the handler's large stack, so a crash cannot be captured before that dump is done. A fault
  /// outside a section cannot be postponed, because the faulting instruction would run again at once.
  private func postpone(_ signal: DeliveredSignal) -> Bool {
    guard session.request.isFromTool, signal.isAsynchronous, let information = signal.information
    else { return false }
    shared.waiting.signal.keep(information)
    return true
  }

  /// Abandons the dump, because the thread that takes it crashed.
  ///
  /// Releases the stopped threads, the timer and the role of the capturing thread.
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

  /// Handles a signal on the capturing thread.
  ///
  /// A signal from another process is kept, to be sent again if the process survives. After a fault in a section, the
  /// thread continues at the section's recovery point. Any other signal ends the process by the signal of the crash.
  @_noLocks
  func recoverCapture(from call: HandlerCall) {
    let signal = call.signal
    if isForeign(signal) {
      if let information = signal.information { shared.waiting.signal.keep(information) }
      return
    }
    // `endProcess` has begun, and another signal arrived before the thread returned to the crashing instruction. A
    // seccomp filter that traps rt_sigreturn causes this.
    if isEnding, signal.number != session.exception.signal.number { forceEnd() }
    SignalMask.open(installed.signals.capture)
    if session.recoveryPoints.recover(signal) { return }
    // If there is no recovery point, this is a fault before the first section or after the last one, or the crash has
    // occurred again. Nothing more can be written. A fault with another signal number is a consequence of the crash,
    // so the process ends by the signal of the crash.
    let crash = session.exception.signal.number
    if session.exception.outcome.isEnd, crash != 0, signal.number != crash, !signal.isAsynchronous {
      forceEnd()
    }
    shared.timesReturned &+= 1
    endProcess(by: call)
  }

  /// True for a signal that another process or the kernel sends to the capturing thread.
  ///
  /// Such a signal can arrive before the dump, while the dump is written, while Swift's backtracer runs, and while
  /// the process ends.
  ///
  /// It must not end the process, because the report would not name it. While the process ends, a signal with the
  /// number of the crash may be the crash itself, because `restoreAndReraise` queues that signal with the original
  /// sender.
  private func isForeign(_ signal: DeliveredSignal) -> Bool {
    guard signal.isForeign(to: shared.process.id) else { return false }
    return !isEnding || signal.number != session.exception.signal.number
  }
}
