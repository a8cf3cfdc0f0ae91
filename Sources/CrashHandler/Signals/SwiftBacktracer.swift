internal import CSignalSafe

/// Runs Swift's own backtracer, if that is the handler that was installed before this one.
///
/// Unlike other handlers, the backtracer always returns, and sets the default action for all its signals before it
/// returns. So after the backtracer, the process ends if the fault recurs, or if abort() raised the signal. The
/// backtracer stops all threads with signals, and waits two seconds, up to sixteen times, for threads that do not
/// answer. If a second thread crashed and captured its crash during that time, it would start a second backtrace
/// shortly before the process ends. The second backtrace would be truncated, and a `swift-backtrace` process would wait
/// for input forever.
///
/// So the backtracer runs while the crashed thread is still the capturing thread. All other threads stay stopped, or
/// wait, and still answer the backtracer (`standIn`).
///
/// RUNS-DURING-CRASH, on the capturing thread. Source: Swift
/// stdlib/public/runtime/CrashHandlerLinux.cpp.
extension Capture {
  /// True if Swift's backtracer is the previous handler of this signal.
  @_noLocks
  func hasBacktracer(for signal: DeliveredSignal) -> Bool {
    SignalMask.has(shared.backtracer.signals, signal.number)
  }

  /// True if the backtracer would also have run in a process without this handler.
  ///
  /// The backtracer would not have run after a stack overflow on a thread whose only alternate stack comes from this
  /// package. Without that stack, the kernel would have found no stack for any handler, and would have ended the
  /// process.
  @_noLocks
  func hasStackForBacktracer(_ signal: DeliveredSignal) -> Bool {
    guard let context = signal.context, signal.number == SIGSEGV || signal.number == SIGBUS
    else { return true }
    return context.isOnSignalStack || !shared.stackOffers.isFirst(context.signalStackSize)
      || !memory.isReadable(context.number)
      // Source: Linux arch/x86/kernel/signal.c, get_sigframe: the frame is below the red zone.
      || ThreadRoom.isMapped(below: context.stackPointer, 128 &+ installed.signals.frameSize)
  }

  /// True if the process ends after the backtracer has returned: after abort(), or after a fault that probably
  /// recurs.
  @_noLocks
  func endsAfterBacktrace(_ signal: DeliveredSignal) -> Bool {
    if signal.number == SIGABRT { return isAborting(signal) }
    return signal.context != nil && signal.recurrence.isLikely && !hasLeftSequence(signal)
  }

  /// Runs Swift's backtracer, which resets all signals that it handles to the default action before it returns.
  ///
  /// If the process then does not end, this function prepares the handler for the next crash.
  @_noLocks
  func runBacktracer(_ signal: DeliveredSignal) {
    shared.ending.store(Shared.Ending.backtracing)
    callStandIns()
    let ours = signalsWithOurHandler()
    callPreviousHandler(signal)
    forgetBacktracer()
    if session.exception.outcome.isEnd { return }
    SignalMask.block(~installed.signals.faults)
    let isRemembered = session.exception.outcomeOffset > 0
    // `rearm` is needed only after a dump. Without a dump, no thread was stopped, so the handler is still ready for the
    // next crash.
    if isRemembered { rearm() }
    takeBackSignals(ours, after: signal.number)
    if isRemembered { markReturned(signal) }
    shared.ending.store(0)
  }

  /// Records that the previous handler has returned after the last recorded crash.
  ///
  /// This function is called while the calling thread is still the capturing thread, so `shared.survived` is still
  /// about this crash.
  private func markReturned(_ signal: DeliveredSignal) {
    shared.survived.handlerHasReturned = true
    guard signal.isAsynchronous, let information = signal.information,
      // After the SIGABRT handler has returned, abort() ends the process.
      signal.number != SIGABRT || information.sender != shared.process.id
    else { return }
    markWentOn()
  }

  /// Removes the backtracer from the previous handlers, because it runs only once in a process.
  @_noLocks
  func forgetBacktracer() {
    for index in Indices(32) {
      let number = Int32(truncatingIfNeeded: index)
      if SignalMask.has(shared.backtracer.signals, number) {
        shared.previousActions[number] = pm_signal_action()
      }
    }
    shared.backtracer.signals = 0
  }
}
