internal import CSignalSafe

/// Runs the handler that was there before ours, as the kernel would have run it.
///
/// Our handlers stay in while it runs: it may recover, by returning or by siglongjmp, and what
/// crashes next is another crash. It is called on the stack that the signal came in on, with the
/// original siginfo and context.
///
/// RUNS-DURING-CRASH. Source: sigaction(2); Linux kernel/signal.c, get_signal and signal_delivered.
@safe
struct PreviousHandler {
  private let capture: Capture

  @_noLocks
  init(_ capture: Capture) {
    self.capture = capture
  }

  /// Calls it, and sees to what follows its return.
  ///
  /// - Parameters:
  ///   - crash: the number of this crash, to know it by afterwards.
  ///   - fault: that of its fault.
  @_noLocks
  func run(_ signal: DeliveredSignal, crash: UInt32, fault: UInt32) {
    let ours = signal.wasSent ? actionsOfOurs() : 0
    call(signal)
    capture.shared.knownFaults.noteReturn(fault)
    if capture.shared.survived.count == crash {
      capture.shared.survived.handlerHasReturned = true
    }
    // After a fault the instruction runs again, and shows whether the cause is gone.
    guard signal.wasSent, let information = signal.information else { return }
    takeBack(ours, after: signal.number)
    // abort() goes on to end the process once its signal's handler returns.
    if signal.number == SIGABRT, information.sender == capture.shared.process.id { return }
    SurvivalRecord(capture).markIfFree(crash)
  }

  /// Calls it; what it changed in the context holds when our handler returns.
  @_noLocks
  func call(_ signal: DeliveredSignal) {
    let number = signal.number
    let action = capture.shared.previousActions[number]
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
  /// backtracer does with all its signals: the process is alive and would go on without any.
  ///
  /// Not while the signal waits to be delivered to this thread: then the handler has put the
  /// default there and raised the signal once more, to end the process by it.
  ///
  /// - Parameter ours: the signals whose action was our handler before.
  @_noLocks
  func takeBack(_ ours: UInt64, after signal: Int32) {
    guard let pending = SignalMask.pending, !SignalMask.has(pending, signal) else { return }
    let changed = ours & actions(handler: SIG_DFL)
    var number: Int32 = 1
    while number < 32 {
      if SignalMask.has(changed, number) {
        capture.shared.previousActions[number] = pm_signal_action()
        SignalAction.set(number, capture.installed.signals.crashAction(of: number))
      }
      number &+= 1
    }
  }

  /// The crash signals whose action is our handler.
  @_noLocks
  func actionsOfOurs() -> UInt64 {
    actions(handler: capture.installed.signals.crashAction.handler)
  }

  /// The crash signals whose action is this handler.
  private func actions(handler: UInt64) -> UInt64 {
    var result: UInt64 = 0
    var number: Int32 = 1
    while number < 32 {
      if SignalMask.has(capture.installed.signals.crashes, number),
        let action = SignalAction.current(number), action.handler == handler
      {
        result |= SignalMask.bit(number)
      }
      number &+= 1
    }
    return result
  }
}
