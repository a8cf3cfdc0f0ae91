internal import CSignalSafe

/// What follows a crash that the process may survive: a handler that was installed before ours is called, and one
/// that called ours is returned to.
///
/// Our handlers stay in while it runs: it may recover, by returning or by siglongjmp, and what
/// crashes next is another crash. It is called on the stack that the signal came in on, with the
/// original siginfo and context, as the kernel would have called it.
///
/// RUNS-DURING-CRASH. Source: sigaction(2); Linux kernel/signal.c, get_signal and signal_delivered.
extension Capture {
  /// Lets the next thread capture; then calls the previous handler (`handled`), restores the default action
  /// (`delegated`), or returns (`discarded`).
  @_noLocks
  func chain(_ call: HandlerCall) {
    let (signal, exception) = (call.signal, session.exception)
    // 0 for a crash without a dump: what becomes of the process is said in none then.
    let count = exception.outcomeOffset > 0 ? shared.survived.count : 0
    // Counts a fault that occurs again after the default action was restored: a filter forbids rt_sigaction.
    if case .delegated = exception.outcome {
      shared.timesReturned = exception.isRepetition ? shared.timesReturned &+ 1 : 0
    }
    // One that comes from here on waits in the kernel.
    blockFaults()
    shared.waiting.signal.sendAgain(exception.threadID, of: shared.process.id)
    shared.endTurn()
    if case .handled = exception.outcome, !exception.isBacktraced {
      runPreviousHandler(signal, crash: count, fault: exception.faultNumber)
    }
    if !call.isKernels {
      // The kernel gives the handler that called ours its stack and mask back only when that one returns,
      // and it may leave by siglongjmp instead.
      signal.context?.restoreSignalStack()
      SignalMask.set(call.mask)
    }
    if case .delegated = exception.outcome {
      shared.knownFaults.noteReturn(exception.faultNumber)
      delegate(signal)
    }
  }

  /// Does what the default action stands for, as far as a function can that another handler has
  /// called: the action is put back, and the crash happens again when that handler returns.
  ///
  /// abort() continues by itself.
  private func delegate(_ signal: DeliveredSignal) {
    if isAborting(signal) {
      restoreAction(of: signal.number)
    } else {
      passOn(signal)
    }
  }

  /// Calls the previous handler, and sees to what follows its return.
  ///
  /// - Parameters:
  ///   - crash: the number of this crash, to know it by afterwards.
  ///   - fault: that of its fault.
  private func runPreviousHandler(_ signal: DeliveredSignal, crash: UInt32, fault: UInt32) {
    let ours = signal.isAsynchronous ? signalsWithOurHandler() : 0
    callPreviousHandler(signal)
    shared.knownFaults.noteReturn(fault)
    if shared.survived.count == crash { shared.survived.handlerHasReturned = true }
    // After a fault the instruction runs again, and shows whether the cause is removed.
    guard signal.isAsynchronous, let information = signal.information else { return }
    takeBackSignals(ours, after: signal.number)
    // abort() goes on to end the process once its signal's handler returns.
    if signal.number == SIGABRT, information.sender == shared.process.id { return }
    markWentOnIfFree(crash)
  }

  /// Calls it; what it changed in the context holds when our handler returns.
  @_noLocks
  func callPreviousHandler(_ signal: DeliveredSignal) {
    let number = signal.number
    let action = shared.previousActions[number]
    if action.flags & UInt64(SA_RESETHAND) != 0 {
      SignalAction.set(number, pm_signal_action())
    }
    if let context = signal.context {
      // Capture left a stack of its own in; only a handler that returns would get the thread's back.
      context.restoreSignalStack()
      var mask = context.signalMask | action.mask
      if action.flags & UInt64(truncatingIfNeeded: SA_NODEFER) == 0 {
        mask |= SignalMask.bit(number)
      }
      SignalMask.set(mask)
    }
    unsafe pm_call_previous_handler(
      action.handler, number, signal.information?.address, signal.context?.address)
  }

  /// Installs our handler again where the previous one has left the default behind, as Swift's
  /// backtracer does with all its signals: the process is alive and would continue without any.
  ///
  /// Not while the signal waits to be delivered to this thread: then the handler has put the
  /// default there and raised the signal once more, to end the process by it.
  ///
  /// - Parameter ours: the signals whose action was our handler before.
  @_noLocks
  func takeBackSignals(_ ours: UInt64, after signal: Int32) {
    guard let pending = SignalMask.pending, !SignalMask.has(pending, signal) else { return }
    let changed = ours & crashSignals(withHandler: SIG_DFL)
    var number: Int32 = 1
    while number < 32 {
      if SignalMask.has(changed, number) {
        shared.previousActions[number] = pm_signal_action()
        SignalAction.set(number, installed.signals.crashAction(of: number))
      }
      number &+= 1
    }
  }

  /// The crash signals whose action is our handler.
  @_noLocks
  func signalsWithOurHandler() -> UInt64 {
    crashSignals(withHandler: installed.signals.crashAction.handler)
  }

  private func crashSignals(withHandler handler: UInt64) -> UInt64 {
    var result: UInt64 = 0
    var number: Int32 = 1
    while number < 32 {
      if SignalMask.has(installed.signals.crashes, number),
        let action = SignalAction.current(number), action.handler == handler
      {
        result |= SignalMask.bit(number)
      }
      number &+= 1
    }
    return result
  }

  /// Says in the dump of a crash that the process went on, if that is still the last one and no
  /// thread captures.
  private func markWentOnIfFree(_ crash: UInt32) {
    // A signal that is sent now must not find this thread as the one that captures.
    let mask = SignalMask.block(~SignalMask.bit(SIGSYS))
    defer { if let mask { SignalMask.set(mask) } }
    let thread = UInt32(bitPattern: pm_gettid())
    guard shared.capturingThread.exchange(expected: 0, desired: thread) == 0 else { return }
    if shared.survived.count == crash { markWentOn() }
    shared.endTurn()
  }
}
