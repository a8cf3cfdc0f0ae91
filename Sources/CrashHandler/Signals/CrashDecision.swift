internal import CSignalSafe
internal import IntermediateDump

/// Decides whether the process ends or continues after a crash, and whether a dump of the crash is taken.
///
/// RUNS-DURING-CRASH, on the capturing thread.
extension Capture {
  /// Stores the crash in the session, and decides its outcome.
  @_noLocks
  func decideOutcome(of call: HandlerCall) {
    session.exception = CapturedException()
    session.exception.signal = call.signal
    session.exception.threadID = Int32(bitPattern: shared.capturingThread.value)
    session.exception.entryTime = call.entryTime
    let isForced = call.isFromKernel && forcesDefaultAction(call.signal)
    var isBacktraced = !isForced && hasBacktracer(for: call.signal)
    if isBacktraced, !hasStackForBacktracer(call.signal) {
      // The default action is taken next, as it would be without this handler.
      forgetBacktracer()
      isBacktraced = false
    }
    session.exception.isBacktraced = isBacktraced
    let isEnd = isBacktraced && call.isFromKernel && endsAfterBacktrace(call.signal)
    session.exception.outcome = isEnd ? .ends : outcome(of: call, isForced: isForced)
  }

  /// - Parameter isForced: true if the default action must be taken without running a previous handler
  ///   (`forcesDefaultAction`).
  private func outcome(of call: HandlerCall, isForced: Bool) -> CrashOutcome {
    let signal = call.signal
    if !isForced, shared.previousActions[signal.number].handler > SIG_IGN { return .handled }
    if kernelDiscards(signal) { return .discarded }
    return call.isFromKernel ? .ends : .delegated
  }

  /// Adds the fault to the known faults; returns true if the crash needs a dump.
  ///
  /// Returns false if this signal only ends the process after an earlier crash: the previous handler raised it, or it
  /// comes from the faulting instruction by which abort() ends the first process of a PID namespace. If the process
  /// may survive the crash, also returns false for a fault that recurs after the previous handler returned, and for any
  /// crash after the first `CaptureLimits.survivedCrashes` dumps.
  ///
  /// If this signal only ends the process, this function records in the earlier dump that its crash ended the process.
  @_noLocks
  func needsDump() -> Bool {
    if endsEarlierCrash() {
      markOutcome(SurvivalOutcome.endedByHandler.code)
      shared.survived.isOutcomeOpen = false
      return false
    }
    let fault = FaultIdentity(session.exception)
    let isRepeated = shared.knownFaults.isRepetition(fault)
    session.exception.isRepetition = isRepeated
    session.exception.faultNumber = shared.knownFaults.add(fault)
    if session.exception.outcome.isEnd {
      guard isLastResortOfAbort() else { return true }
      markOutcome(SurvivalOutcome.endedCode)
      return false
    }
    if isRepeated { return false }
    return Int(shared.survived.count) < installed.limits.survivedCrashes
  }

  /// True if the previous handler, called for an earlier crash, ends the process with this signal, for example by
  /// abort().
  ///
  /// Such a signal is not a new crash.
  private func endsEarlierCrash() -> Bool {
    let exception = session.exception
    guard shared.survived.isOutcomeOpen, !shared.survived.handlerHasReturned,
      exception.threadID == shared.survived.thread, exception.signal.isAsynchronous,
      exception.signal.information?.sender == shared.process.id,
      let context = exception.signal.context
    else { return false }
    // If the thread has left the previous handler, for example through siglongjmp, the signal is a new crash.
    return isInPreviousHandler(context.stackPointer)
  }
}
