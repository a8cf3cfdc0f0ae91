internal import CSignalSafe

/// Resumes the process, or another handler, after a crash that the process may survive.
///
/// This code calls the previous handler, which was installed before this package's handler. If there is none, this code
/// returns to the process, or to a handler that called this package's handler.
///
/// This package's handlers stay installed while the previous handler runs, because the previous handler may recover
/// by returning or through siglongjmp, and the process may then crash again. The previous handler is called as the
/// kernel would have called it: on the stack that the signal was delivered on, with the original siginfo and context.
///
/// RUNS-DURING-CRASH. Source: sigaction(2); Linux kernel/signal.c, get_signal and signal_delivered.
extension Capture {
  /// Ends this thread's turn to capture, so that the next crashed thread can capture its crash.
  ///
  /// Then, depending on the crash's outcome, calls the previous handler (`handled`), restores the default action
  /// (`delegated`), or returns (`discarded`).
  @_noLocks
  func chain(_ call: HandlerCall) {
    let (signal, exception) = (call.signal, session.exception)
    // `count` is 0 if the crash has no dump in which its outcome could be recorded.
    let count = exception.outcomeOffset > 0 ? shared.survived.count : 0
    // If the fault occurs again although the default action should have ended the process, a seccomp filter has
    // probably refused the call of rt_sigaction that restores that action. `restoreAndReraise` detects this from
    // `timesReraised`.
    if case .delegated = exception.outcome {
      shared.timesReraised = exception.isRepetition ? shared.timesReraised &+ 1 : 0
    }
    // From here on, a crash signal that another process sends stays pending in the kernel, because it is blocked.
    blockFaultsAndWatchdog()
    shared.postponed.sendAgain(exception.threadID, of: shared.process.id)
    shared.endTurn()
    if case .handled = exception.outcome, !exception.isBacktraced {
      runPreviousHandler(signal, crash: count, fault: exception.faultNumber)
    }
    if !call.isFromKernel {
      // The handler that called this handler may leave through siglongjmp. The kernel restores the thread's alternate
      // stack and mask only if that handler returns, so both are restored here.
      signal.context?.restoreSignalStack()
      SignalMask.set(call.mask)
    }
    if case .delegated = exception.outcome {
      shared.knownFaults.noteReturn(exception.faultNumber)
      delegate(signal)
    }
  }

  /// Takes the default action for a crash that another handler passed to this handler.
  ///
  /// The default action is restored here, and ends the process when the crash occurs again, after that other handler
  /// has returned.
  ///
  /// After abort(), this function does not raise the signal again, because abort() ends the process itself.
  private func delegate(_ signal: DeliveredSignal) {
    guard !isAborting(signal) else { return restoreAction(of: signal.number) }
    restoreAndReraise(signal)
  }

  /// Calls the previous handler.
  ///
  /// If it returns, and the signal was sent and not raised by a fault, this function notes in the dump that the process
  /// continued. Nothing is noted after abort() or a later crash, or while another thread is capturing.
  ///
  /// - Parameters:
  ///   - crash: the number of this crash; if it is still the latest number when the handler returns, there was no
  ///     later crash.
  ///   - fault: the number that `shared.knownFaults` has assigned to the crash's fault.
  private func runPreviousHandler(_ signal: DeliveredSignal, crash: UInt32, fault: UInt32) {
    let ours = signal.isAsynchronous ? signalsWithOurHandler() : 0
    callPreviousHandler(signal)
    shared.knownFaults.noteReturn(fault)
    if shared.survived.count == crash { shared.survived.handlerHasReturned = true }
    // After a fault, only the next run of the instruction shows whether the handler has removed the cause of the fault.
    // So nothing is noted before the next crash, whose dump then records that the process survived this one.
    guard signal.isAsynchronous, let information = signal.information else { return }
    takeBackSignals(ours, after: signal.number)
    // abort() ends the process when the handler of its signal returns, so the dump must not say that the process
    // continued.
    if signal.number == SIGABRT, information.sender == shared.process.id { return }
    markWentOnIfFree(crash)
  }

  /// Calls the previous handler; its changes to the context take effect when this package's handler returns.
  @_noLocks
  func callPreviousHandler(_ signal: DeliveredSignal) {
    let number = signal.number
    let action = shared.previousActions[number]
    if action.flags & UInt64(SA_RESETHAND) != 0 {
      SignalAction.set(number, pm_signal_action())
    }
    if let context = signal.context {
      // The capture has installed another alternate stack. The kernel would restore the thread's own alternate stack
      // only when this handler returns, so it is restored here.
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

  /// Installs this package's handler again for signals for which the previous handler has set the default action.
  ///
  /// Swift's backtracer sets the default action for all its signals. Without this function, the process would
  /// continue without a crash handler.
  ///
  /// This function does nothing if the signal that the previous handler handled is pending again. In that case, the
  /// previous handler has set the default action and raised the signal to end the process.
  ///
  /// - Parameter ours: the signals that had this package's handler before the previous handler was called.
  @_noLocks
  func takeBackSignals(_ ours: UInt64, after signal: Int32) {
    guard let pending = SignalMask.pending, !SignalMask.has(pending, signal) else { return }
    let changed = ours & crashSignals(withHandler: SIG_DFL)
    for index in Indices(32) {
      let number = Int32(truncatingIfNeeded: index)
      if SignalMask.has(changed, number) {
        shared.previousActions[number] = pm_signal_action()
        SignalAction.set(number, installed.signals.crashAction(of: number))
      }
    }
  }

  /// Returns the crash signals that have this package's handler.
  @_noLocks
  func signalsWithOurHandler() -> UInt64 {
    crashSignals(withHandler: installed.signals.crashAction.handler)
  }

  private func crashSignals(withHandler handler: UInt64) -> UInt64 {
    var result: UInt64 = 0
    for index in Indices(32) {
      let number = Int32(truncatingIfNeeded: index)
      if SignalMask.has(installed.signals.crashes, number),
        let action = SignalAction.current(number), action.handler == handler
      {
        result |= SignalMask.bit(number)
      }
    }
    return result
  }

  /// Notes in a crash's dump that the process continued, unless there was a later crash or a thread is capturing.
  private func markWentOnIfFree(_ crash: UInt32) {
    // While this thread is marked as the capturing thread, it blocks all signals except SIGSYS, because the handler
    // would treat them as signals during a capture.
    let mask = SignalMask.block(~SignalMask.bit(SIGSYS))
    defer { if let mask { SignalMask.set(mask) } }
    guard shared.beginTurn(pm_gettid()) == 0 else { return }
    if shared.survived.count == crash { markWentOn() }
    shared.endTurn()
  }
}
