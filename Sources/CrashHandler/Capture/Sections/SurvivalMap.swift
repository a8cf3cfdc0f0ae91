internal import CSignalSafe
internal import IntermediateDump

/// Writes the `survival` map, which describes earlier survived crashes and the outcome of this crash.
///
/// RUNS-DURING-CRASH, on the capturing thread.
extension Capture {
  /// Writes the survival map, unless it would be empty.
  @_noLocks
  func writeSurvival() {
    let outcome = session.exception.outcome
    let hasPreceding = session.request.isCrash && shared.survived.count > 0
    let isBacktraced = session.exception.isBacktraced
    guard !outcome.isEnd || hasPreceding || isBacktraced else { return }
    if hasPreceding, isEarlierCrashOver() { markWentOn() }
    writer.startMap(.survival)
    if !outcome.isEnd {
      writer.unsigned(.survivalOutcome, outcome.number, width: 1)
      session.exception.outcomeOffset = Int64(truncatingIfNeeded: writer.size &- 1)
    }
    var hasHandler = isBacktraced
    if case .handled = outcome { hasHandler = true }
    if hasHandler {
      let action = shared.previousActions[session.exception.signal.number]
      writer.unsigned(.previousHandler, action.handler)
      if isBacktraced { writer.unsigned(.previousHandlerIsBacktracer, 1, width: 1) }
    }
    if hasPreceding {
      writer.unsigned(.survivedCrashes, UInt64(shared.survived.count), width: 4)
      unsafe writer.property(.precedingReport, shared.survived.report, count: 16)
    }
    writer.end()
  }

  /// True if the previously installed handler is known to have finished handling the earlier crash.
  ///
  /// The handler has finished if it returned, or if its thread is no longer in a signal handler.
  ///
  /// A crash on another thread does not show whether the earlier crash is over, because the previous handler may
  /// still be running.
  private func isEarlierCrashOver() -> Bool {
    if shared.survived.handlerHasReturned { return true }
    guard session.exception.threadID == shared.survived.thread,
      let context = session.exception.signal.context, context.signalStackSize > 0
    else { return false }
    return !context.isOnSignalStack
  }
}
